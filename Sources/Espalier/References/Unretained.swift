// A reference that does not retain its object: the only unsafe reference between context and objects.
//
// Invariants
//   1. The owner of such a reference sets it to nil before the referenced object is freed. An object leaves the
//      registry in its `deinit`. A context removes itself from the shapes of its objects in its `deinit`. A shape or
//      cohort, which objects reference for life, counts its users instead (`SharedByObjects`).
//   2. Context and objects share one isolation region (neither is Sendable), so no other thread runs in between.
// A `weak` reference would need neither rule, but would allocate a side table for every fetched object.

/// An unretained reference to an object, or nil.
@safe struct Unretained<Object: AnyObject> {
    // SAFETY: the object exists as long as the reference is set, by invariants 1 and 2.
    private let reference: Unmanaged<Object>?

    init(_ object: Object?) { unsafe reference = object.map { unsafe Unmanaged.passUnretained($0) } }

    /// The object, which the caller retains.
    var object: Object? { unsafe reference?.takeUnretainedValue() }

    /// Whether the reference is nil.
    // SAFETY: nothing is read through it.
    @inline(__always)
    var isNil: Bool { unsafe reference == nil }

    /// Whether both refer to the same object.
    func isSame(as other: Unretained) -> Bool {
        // SAFETY: only the addresses are compared.
        guard let own = unsafe reference, let other = unsafe other.reference else { return false }
        return unsafe own.toOpaque() == other.toOpaque()
    }

    /// Calls `body` with the object, if there is one, without retaining it; the caller ensures that it outlives the
    /// call.
    @inline(__always)
    func withObject<R>(_ body: (Object) -> R) -> R? {
        // SAFETY: the object exists as long as the reference is set.
        guard let reference = unsafe reference else { return nil }
        return unsafe reference._withUnsafeGuaranteedRef { body($0) }
    }
}
