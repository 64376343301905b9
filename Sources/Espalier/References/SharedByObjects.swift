// Objects that many managed objects of one context refer to for life: their shape, their cohort.
//
// Invariants
//   1. As long as managed objects refer to it, it holds one reference to itself; they hold none of their own.
//   2. Context and objects share one isolation region (neither is Sendable), so the count needs no atomic operation.
// Counted by hand: see Decisions, "References to shape and cohort".

/// A base class of what objects refer to, and count instead of retaining.
class SharedByObjects {
    private final var objectCount: Int {
        // SAFETY: no access lasts while another begins: a number.
        @inline(__always)
        _read { yield unsafe storedCount }
        @inline(__always)
        _modify { yield &(unsafe storedCount) }
    }
    @exclusivity(unchecked) private final var storedCount = 0

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
