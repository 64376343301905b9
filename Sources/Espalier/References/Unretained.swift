// A reference that does not retain its object: the only unsafe reference between context and objects.
//
// Invariants
//   1. The owner of such a reference sets it to nil before the referenced object is freed. An object leaves the
//      registry in its `deinit`. A context removes itself from the shapes of its objects in its `deinit`. A shape or
//      cohort, which objects reference for life, counts its users instead (`SharedByObjects`). A debug build stops the
//      program where a reference to a freed object is used.
//   2. Context and objects share one isolation region (neither is Sendable), so no other thread runs in between.
// A `weak` reference would need neither rule, but would allocate a side table for every fetched object.

#if DEBUG
    /// An object that knows, in a debug build, whether its `deinit` has run to its end.
    ///
    /// It knows that by a number that it stores anyway, so that debug builds need no memory for it: an unowned
    /// reference keeps the memory of a freed object, with the number, until the reference is gone too. While `deinit`
    /// still runs, the object may be used: it is found and removed where it is registered.
    protocol Unretainable: AnyObject {
        /// Whether `deinit` has run to its end.
        var hasEnded: Bool { get }
    }
#else
    typealias Unretainable = AnyObject
#endif

/// An unretained reference to an object, or nil.
@safe struct Unretained<Object: Unretainable> {
    #if DEBUG
        /// Never read as a reference, which would stop the program while `deinit` runs.
        private unowned let holder: Object?
        // SAFETY: an unowned reference is the address of its object, and this struct has no other field.
        private var reference: Unmanaged<Object>? { unsafe unsafeBitCast(self, to: Unmanaged<Object>?.self) }

        init(_ object: Object?) { holder = object }
    #else
        // SAFETY: the object exists as long as the reference is set, by invariants 1 and 2.
        private let reference: Unmanaged<Object>?

        init(_ object: Object?) { unsafe reference = object.map { unsafe Unmanaged.passUnretained($0) } }
    #endif

    /// The object, which the caller retains.
    var object: Object? {
        #if DEBUG
            checkObject()
        #endif
        // SAFETY: the object exists as long as the reference is set.
        return unsafe reference?.takeUnretainedValue()
    }

    /// Whether the reference is nil.
    // SAFETY: nothing is read through it.
    @inline(__always)
    var isNil: Bool { unsafe reference == nil }

    /// Whether both refer to the same object, which may be freed.
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
        #if DEBUG
            checkObject()
        #endif
        return unsafe reference._withUnsafeGuaranteedRef { body($0) }
    }

    #if DEBUG
        /// Stops the program if the object was freed.
        private func checkObject() {
            // SAFETY: the unowned reference keeps the memory of a freed object.
            guard let reference = unsafe reference else { return }
            let hasEnded = unsafe reference._withUnsafeGuaranteedRef { $0.hasEnded }
            precondition(!hasEnded, "invariant 1: a reference to a freed \(Object.self) is used")
        }
    #endif
}
