(component
  (component $nested (import "a" (func)))
  (instance $guest (export "none" (instance)))
  (core module (import "x" "y" (func)) (@custom "component-type:a" "\00asm\0d\00\01\00"))
  (export "windlass:reconciler/guest@0.1.0" (instance $guest)))
