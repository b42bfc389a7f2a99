(; Its name is outside of its memory. ;)
(module
  (@custom "component-type" "")
  (memory (export "memory") 1)
  (global $free (mut i32) (i32.const 4096))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (global.get $free)
    (global.set $free (i32.and (i32.add (i32.add (global.get $free) (local.get 3)) (i32.const 15)) (i32.const -8))))
  (; result<manifest, string> at 64: name, version, kind(group, version, kind, plural, namespaced), full, "", no lists. ;)
  (data (i32.const 16) "a1example.comv1Thingthings")
  (data (i32.const 64)
    "\00\00\00\00"
    "\f0\ff\ff\ff\ff\00\00\00" "\11\00\00\00\01\00\00\00"
    "\12\00\00\00\0b\00\00\00" "\1d\00\00\00\02\00\00\00" "\1f\00\00\00\05\00\00\00"
    "\24\00\00\00\06\00\00\00" "\01\00\00\00"
    "\02\00\00\00\00\00\00\00\00\00\00\00"
    "\00\00\00\00\00\00\00\00"
    "\00\00\00\00\00\00\00\00" "\00\00\00\00\00\00\00\00"
    "\00\00\00\00" "\00\00\00\00\00\00\00\00" "\00\00\00\00")
  (; result<reply, failure> at 256: ok, decide, none-wanted, and nothing else. ;)
  (data (i32.const 264) "\01")
  (data (i32.const 272) "\02")
  (func (export "windlass:reconciler/guest@0.1.0#describe") (param i32 i32) (result i32) (i32.const 64))
  (func (export "windlass:reconciler/guest@0.1.0#reconcile") (param i32) (result i32) (i32.const 256))
  (func (export "windlass:reconciler/guest@0.1.0#finalize") (param i32) (result i32) (unreachable)))
