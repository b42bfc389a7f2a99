(component
  (import "windlass:reconciler/log@0.0.9" (instance))
  (import "wasi:http/types@0.2.0" (instance)))
