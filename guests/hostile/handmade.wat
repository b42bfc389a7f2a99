;; Does what Rust cannot say. The tests fill in DEPTH, how many calls deep `recurse` goes, and START, what runs when an
;; instance is made.
;;
;; Layouts are those of the component model for the records in wit/. What a decision does is the first letter of
;; `spec.behaviour`: tables, aliased, children, queries, recurse; for any other letter it wants no children.
(module
  (import "windlass:reconciler/log@0.1.0" "write" (func $log (param i32 i32 i32)))
  ;; What is in it is not read by the host, only that it is there.
  (@custom "component-type" "")
  (memory (export "memory") 1)
  (table $table 1 funcref)
  (global $end (mut i32) (i32.const 4096))

  ;; Texts, and at 256 the result of `describe`: handmade 1, for Hostiles in full, which writes their status.
  (data (i32.const 1024) "handmade")
  (data (i32.const 1032) "1")
  (data (i32.const 1033) "hostile.windlass.test")
  (data (i32.const 1054) "v1")
  (data (i32.const 1056) "Hostile")
  (data (i32.const 1063) "hostiles")
  (data (i32.const 1071) "hello")
  (data (i32.const 256) "\00\00\00\00\00\04\00\00\08\00\00\00\08\04\00\00\01\00\00\00\09\04\00\00\15\00\00\00\1e\04\00\00\02\00\00\00\20\04\00\00\07\00\00\00\27\04\00\00\08\00\00\00\01\00\00\00\02\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")

  (func (export "cabi_realloc") (param $old i32) (param $size i32) (param $align i32) (param $new i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $end) (i32.const 7)) (i32.const -8)))
    (global.set $end (i32.add (local.get $at) (local.get $new)))
    (block $fits
      (br_if $fits (i32.le_u (global.get $end) (i32.mul (memory.size) (i32.const 65536))))
      (br_if $fits (i32.ne (i32.const -1)
        (memory.grow (i32.add (i32.const 1) (i32.div_u (local.get $new) (i32.const 65536))))))
      unreachable)
    (local.get $at))

  (func (export "windlass:reconciler/guest@0.1.0#describe") (param i32 i32) (result i32) (i32.const 256))
  (func (export "windlass:reconciler/guest@0.1.0#finalize") (param i32) (result i32) unreachable)

  ;; The result lies at 16: ok; at 24 ask or decide; from 32 the list of queries, or the outcome.
  (func (export "windlass:reconciler/guest@0.1.0#reconcile") (param $request i32) (result i32)
    (local $letter i32)
    (local.set $letter (call $letter (i32.load offset=16 (local.get $request)) (i32.load offset=20 (local.get $request))))
    ;; No children, unless something else is said.
    (i32.store (i32.const 24) (i32.const 1))
    (i32.store (i32.const 32) (i32.const 2))
    (if (i32.eq (local.get $letter) (i32.const 0x74)) (then (call $tables)))
    (if (i32.eq (local.get $letter) (i32.const 0x61)) (then (call $aliased)))
    (if (i32.eq (local.get $letter) (i32.const 0x63)) (then (call $children)))
    (if (i32.eq (local.get $letter) (i32.const 0x71)) (then (call $queries)))
    (if (i32.eq (local.get $letter) (i32.const 0x72)) (then (drop (call $recurse (i32.const DEPTH)))))
    (i32.const 16))

  ;; The letter after `viour":"` in the primary, which is looked at byte by byte.
  (func $letter (param $at i32) (param $length i32) (result i32)
    (local $last i32)
    (local.set $last (i32.add (local.get $at) (i32.sub (local.get $length) (i32.const 9))))
    (loop $next
      (if (i64.eq (i64.load align=1 (local.get $at)) (i64.const 0x223a2272756f6976))
        (then (return (i32.load8_u offset=8 (local.get $at)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_s (local.get $at) (local.get $last))))
    (i32.const 0))

  ;; Grows its table until it may not.
  (func $tables
    (loop $more
      (br_if $more (i32.ne (i32.const -1) (table.grow $table (ref.null func) (i32.const 1000)))))
    unreachable)

  ;; 1,000 children, each of them the same megabyte.
  (func $aliased
    (local $text i32) (local $child i32) (local $left i32)
    (local.set $text (call $pages (i32.const 16)))
    (local.set $child (call $pages (i32.const 1)))
    (call $exactly (local.get $child) (i32.const 1000))
    (local.set $left (i32.const 1000))
    (loop $more
      (i32.store offset=4 (local.get $child) (local.get $text))
      (i32.store offset=8 (local.get $child) (i32.const 1048576))
      (local.set $child (i32.add (local.get $child) (i32.const 48)))
      (br_if $more (local.tee $left (i32.sub (local.get $left) (i32.const 1))))))

  ;; A million children, each of them empty.
  (func $children
    (call $exactly (call $pages (i32.const 733)) (i32.const 1000000)))

  ;; A million questions, each of them empty.
  (func $queries
    (i32.store (i32.const 24) (i32.const 0))
    (i32.store (i32.const 32) (call $pages (i32.const 1160)))
    (i32.store (i32.const 36) (i32.const 1000000)))

  ;; Calls itself, and in the innermost call the host.
  (func $recurse (param $left i32) (result i32)
    (if (i32.eqz (local.get $left))
      (then
        (call $log (i32.const 1) (i32.const 1071) (i32.const 5))
        (return (i32.const 0))))
    (i32.add (i32.const 1) (call $recurse (i32.sub (local.get $left) (i32.const 1)))))

  ;; These children and no others.
  (func $exactly (param $list i32) (param $length i32)
    (i32.store (i32.const 32) (i32.const 1))
    (i32.store (i32.const 36) (local.get $list))
    (i32.store (i32.const 40) (local.get $length)))

  ;; So many pages of zeros.
  (func $pages (param $count i32) (result i32)
    (local $page i32)
    (local.set $page (memory.grow (local.get $count)))
    (if (i32.eq (local.get $page) (i32.const -1)) (then unreachable))
    (i32.mul (local.get $page) (i32.const 65536)))

  (func $spin (loop $always (br $always)))
  START)
