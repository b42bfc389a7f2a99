//! Computes what would differ between machines, if the host let it.

use std::hint::black_box;

/// Bits of results that are not numbers, and of numbers that had to be rounded.
pub(crate) fn floats() -> String {
    let [zero, one, huge] = black_box([0.0_f64, 1.0, f64::MAX]);
    let no_number = zero / black_box(zero);
    let double = [
        no_number,
        -no_number,
        (-one).sqrt(),
        huge * huge - black_box(huge) * huge,
        no_number.min(one),
        no_number + f64::from_bits(0x7ff4_0000_0000_0001),
        (one / 3.0).sin(),
        one.mul_add(0.1, 0.2),
    ];
    let narrow = double.map(|number| (number as f32).to_bits());
    let widened = narrow.map(|bits| f64::from(f32::from_bits(bits)).to_bits());
    format!("{:x?} {narrow:x?} {widened:x?}", double.map(f64::to_bits))
}

/// Bits of relaxed vector operations: fused or not, and out of range in one way or another.
#[cfg(target_arch = "wasm32")]
pub(crate) fn vectors() -> String {
    use core::arch::wasm32::{
        f32x4, f32x4_relaxed_madd, f32x4_relaxed_max, f32x4_relaxed_min, i8x16, i8x16_relaxed_swizzle,
        i32x4_relaxed_trunc_f32x4, u64x2_extract_lane, v128,
    };
    #[target_feature(enable = "relaxed-simd")]
    fn relaxed() -> [v128; 5] {
        let [tenth, large, no_number] = black_box([0.1_f32, 3e9, f32::NAN]);
        let (one, other) = (f32x4(tenth, large, no_number, -0.0), f32x4(tenth, -large, tenth, 0.0));
        let bytes = i8x16(0, 15, 16, 17, 127, -128, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9);
        [
            f32x4_relaxed_madd(one, other, f32x4(-0.01, tenth, tenth, tenth)),
            f32x4_relaxed_min(one, other),
            f32x4_relaxed_max(one, other),
            i32x4_relaxed_trunc_f32x4(one),
            i8x16_relaxed_swizzle(bytes, bytes),
        ]
    }
    let bits = relaxed().map(|vector| [u64x2_extract_lane::<0>(vector), u64x2_extract_lane::<1>(vector)]);
    format!("{bits:x?}")
}

/// Only wasm has them.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn vectors() -> String {
    String::new()
}
