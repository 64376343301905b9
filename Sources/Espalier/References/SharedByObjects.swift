// A base class for the parts to which many managed objects of one context refer for life: shape and cohort.
//
// Invariants
//   1. As long as managed objects refer to it, it holds one reference to itself; they hold none of their own.
//   2. Context and objects share one isolation region (neither is Sendable), so the count needs no atomic operation.
// The count is manual: see Decisions, "References to shape and cohort".

/// An instance to which managed objects refer by counting instead of retaining.
class SharedByObjects {
    /// The number of objects that refer to it.
    private(set) final var objectCount = 0

    deinit { assert(objectCount == 0, "invariant 1: it is freed while \(objectCount) objects refer to it") }

    /// Counts one more object that refers to it.
    @inline(__always)
    final func addObject() {
        // SAFETY: the last `removeObject` releases it.
        if objectCount == 0 { _ = unsafe Unmanaged.passRetained(self) }
        objectCount &+= 1
    }

    /// Counts one object less; after the last one it may be freed.
    @inline(__always)
    final func removeObject() {
        precondition(objectCount > 0, "an object is released that was not counted")
        objectCount &-= 1
        // SAFETY: the first `addObject` has retained it.
        if objectCount == 0 { unsafe Unmanaged.passUnretained(self).release() }
    }
}
