// A reference that keeps nothing alive and costs nothing: the only unsafe references between context and objects.
//
// Invariants
//   1. Whoever stores one sets it to nil before its object is freed: an object leaves the registry in `deinit`, and a
//      context takes the references to it out of the shapes of its objects in `deinit`. What an object refers to for
//      life counts it instead (`SharedByObjects`).
//   2. Context and objects share one isolation region (neither is Sendable), so no other thread is in between.
// A `weak` reference would need neither, at the price of a side allocation for every object that is fetched.

/// An object, not retained.
@safe struct Unretained<Object: AnyObject> {
    // SAFETY: alive as long as it is set, by invariants 1 and 2.
    private let reference: Unmanaged<Object>?

    init(_ object: Object?) { unsafe reference = object.map { unsafe Unmanaged.passUnretained($0) } }

    /// The object, retained by whoever asks.
    var object: Object? { unsafe reference?.takeUnretainedValue() }

    /// Whether it refers to none.
    // SAFETY: nothing is read through it.
    @inline(__always)
    var isNil: Bool { unsafe reference == nil }

    /// Whether both refer to one object.
    func isSame(as other: Unretained) -> Bool {
        // SAFETY: only the addresses are compared.
        guard let own = unsafe reference, let other = unsafe other.reference else { return false }
        return unsafe own.toOpaque() == other.toOpaque()
    }

    /// Calls `body` with the object, if there is one, without retaining it: whoever calls knows that it stays.
    @inline(__always)
    func withObject<R>(_ body: (Object) -> R) -> R? {
        // SAFETY: alive as long as it is set.
        guard let reference = unsafe reference else { return nil }
        return unsafe reference._withUnsafeGuaranteedRef { body($0) }
    }
}
