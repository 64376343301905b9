// Objects that many managed objects of one context refer to for life: their shape, their cohort.
//
// Invariants
//   1. As long as managed objects refer to it, it holds one reference to itself; they hold none of their own.
//   2. Context and objects share one isolation region (neither is Sendable), so the count needs no atomic operation.
// Counted by hand: see Decisions, "References to shape and cohort".

/// A base class of what objects refer to, and count instead of retaining.
class SharedByObjects {
    private final var objectCount = 0

    deinit { assert(objectCount == 0, "invariant 1: it ends while \(objectCount) objects refer to it") }

    /// One more object refers to it.
    @inline(__always)
    final func addObject() {
        // SAFETY: given back by the last `removeObject`.
        if objectCount == 0 { _ = unsafe Unmanaged.passRetained(self) }
        objectCount &+= 1
    }

    /// An object refers to it no longer; with the last one it may end.
    @inline(__always)
    final func removeObject() {
        precondition(objectCount > 0, "more objects have gone than came")
        objectCount &-= 1
        // SAFETY: taken by the first `addObject`.
        if objectCount == 0 { unsafe Unmanaged.passUnretained(self).release() }
    }
}
