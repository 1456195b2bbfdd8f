;; XXH64 as in https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md, of bytes that stand in its memory.
;; After a change: node scripts/wasm.js
(module
  (memory (export "memory") 2)

  (func $round (param $lane i64) (param $input i64) (result i64)
    (i64.mul
      (i64.rotl
        (i64.add (local.get $lane) (i64.mul (local.get $input) (i64.const 0xC2B2AE3D27D4EB4F)))
        (i64.const 31))
      (i64.const 0x9E3779B185EBCA87)))

  (func $merge (param $hash i64) (param $lane i64) (result i64)
    (i64.add
      (i64.mul
        (i64.xor (local.get $hash) (call $round (i64.const 0) (local.get $lane)))
        (i64.const 0x9E3779B185EBCA87))
      (i64.const 0x85EBCA77C2B2AE63)))

  ;; Of the bytes in memory from one address up to another.
  (func $xxh64 (export "xxh64") (param $at i32) (param $end i32) (param $seed i64) (result i64)
    (local $hash i64) (local $length i64)
    (local $a i64) (local $b i64) (local $c i64) (local $d i64)
    (local.set $length (i64.extend_i32_u (i32.sub (local.get $end) (local.get $at))))

    (if (i64.ge_u (local.get $length) (i64.const 32))
      (then
        (local.set $a (i64.add (local.get $seed) (i64.const 0x60EA27EEADC0B5D6)))
        (local.set $b (i64.add (local.get $seed) (i64.const 0xC2B2AE3D27D4EB4F)))
        (local.set $c (local.get $seed))
        (local.set $d (i64.sub (local.get $seed) (i64.const 0x9E3779B185EBCA87)))
        ;; The rounds stand here and not as calls: this is where the time goes.
        (loop $stripe
          (local.set $a (i64.mul (i64.rotl (i64.add (local.get $a) (i64.mul
            (i64.load offset=0 (local.get $at)) (i64.const 0xC2B2AE3D27D4EB4F))) (i64.const 31)) (i64.const 0x9E3779B185EBCA87)))
          (local.set $b (i64.mul (i64.rotl (i64.add (local.get $b) (i64.mul
            (i64.load offset=8 (local.get $at)) (i64.const 0xC2B2AE3D27D4EB4F))) (i64.const 31)) (i64.const 0x9E3779B185EBCA87)))
          (local.set $c (i64.mul (i64.rotl (i64.add (local.get $c) (i64.mul
            (i64.load offset=16 (local.get $at)) (i64.const 0xC2B2AE3D27D4EB4F))) (i64.const 31)) (i64.const 0x9E3779B185EBCA87)))
          (local.set $d (i64.mul (i64.rotl (i64.add (local.get $d) (i64.mul
            (i64.load offset=24 (local.get $at)) (i64.const 0xC2B2AE3D27D4EB4F))) (i64.const 31)) (i64.const 0x9E3779B185EBCA87)))
          (local.set $at (i32.add (local.get $at) (i32.const 32)))
          (br_if $stripe (i32.ge_u (i32.sub (local.get $end) (local.get $at)) (i32.const 32))))
        (local.set $hash
          (i64.add
            (i64.add (i64.rotl (local.get $a) (i64.const 1)) (i64.rotl (local.get $b) (i64.const 7)))
            (i64.add (i64.rotl (local.get $c) (i64.const 12)) (i64.rotl (local.get $d) (i64.const 18)))))
        (local.set $hash (call $merge (local.get $hash) (local.get $a)))
        (local.set $hash (call $merge (local.get $hash) (local.get $b)))
        (local.set $hash (call $merge (local.get $hash) (local.get $c)))
        (local.set $hash (call $merge (local.get $hash) (local.get $d))))
      (else
        (local.set $hash (i64.add (local.get $seed) (i64.const 0x27D4EB2F165667C5)))))
    (local.set $hash (i64.add (local.get $hash) (local.get $length)))

    ;; What is left over: by eight bytes, by four, by one.
    (block $done
      (loop $eight
        (br_if $done (i32.lt_u (i32.sub (local.get $end) (local.get $at)) (i32.const 8)))
        (local.set $hash (i64.xor (local.get $hash) (call $round (i64.const 0) (i64.load (local.get $at)))))
        (local.set $hash (i64.add
          (i64.mul (i64.rotl (local.get $hash) (i64.const 27)) (i64.const 0x9E3779B185EBCA87))
          (i64.const 0x85EBCA77C2B2AE63)))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $eight)))
    (if (i32.ge_u (i32.sub (local.get $end) (local.get $at)) (i32.const 4))
      (then
        (local.set $hash (i64.xor (local.get $hash)
          (i64.mul (i64.load32_u (local.get $at)) (i64.const 0x9E3779B185EBCA87))))
        (local.set $hash (i64.add
          (i64.mul (i64.rotl (local.get $hash) (i64.const 23)) (i64.const 0xC2B2AE3D27D4EB4F))
          (i64.const 0x165667B19E3779F9)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))))
    (block $done
      (loop $one
        (br_if $done (i32.eq (local.get $at) (local.get $end)))
        (local.set $hash (i64.xor (local.get $hash)
          (i64.mul (i64.load8_u (local.get $at)) (i64.const 0x27D4EB2F165667C5))))
        (local.set $hash (i64.mul (i64.rotl (local.get $hash) (i64.const 11)) (i64.const 0x9E3779B185EBCA87)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $one)))

    (local.set $hash (i64.xor (local.get $hash) (i64.shr_u (local.get $hash) (i64.const 33))))
    (local.set $hash (i64.mul (local.get $hash) (i64.const 0xC2B2AE3D27D4EB4F)))
    (local.set $hash (i64.xor (local.get $hash) (i64.shr_u (local.get $hash) (i64.const 29))))
    (local.set $hash (i64.mul (local.get $hash) (i64.const 0x165667B19E3779F9)))
    (i64.xor (local.get $hash) (i64.shr_u (local.get $hash) (i64.const 32))))

  ;; Its low half.
  (func (export "checksum") (param $at i32) (param $end i32) (param $seed i32) (result i32)
    (i32.wrap_i64 (call $xxh64 (local.get $at) (local.get $end) (i64.extend_i32_u (local.get $seed)))))
)
