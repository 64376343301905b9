// The two misuses that stop the program: reading from an object, after its context has ended, a value that only the
// context can load; and an index that an ordered relationship does not have.
//
// Neither a property nor a subscript can throw. For the first one the caller would mistake `nil` for an empty
// relationship or a missing value; dynamic access throws `ContextError.contextEnded` instead. If `reset()` made a
// context forget the object, and the context still exists, the next save reports the access. For the second one there
// is no value to return; `OrderedToMany.object(at:)` returns `nil` instead.

import EspalierModel

/// Stops the program, for a misuse that the caller cannot throw.
func stopProgram(_ reason: String) -> Never {
    // `preconditionFailure` prints no message in a release build.
    fatalError(reason)
}

extension ManagedObject {
    /// Whether the context has ended before the object did.
    final var isContextEnded: Bool { withShape { $0.isContextEnded } && wasRegistered }

    /// Whether the values are in memory, for a stored object or a new one.
    final var hasValues: Bool { hasRow || newValues != nil || isFulfilled }

    /// Stops the program if the context has ended: without it the caller has no correct answer.
    ///
    /// Only slow paths call it: a value that is in memory is read without this check.
    @inline(never)
    final func requireContext() {
        guard isContextEnded else { return }
        stopProgram(ContextError.contextEnded(storedID).description)
    }

    /// Throws if the context has ended and the object's values are not in memory.
    final func requireContextOrValues() throws(ContextError) {
        if !hasValues && isContextEnded { throw .contextEnded(storedID) }
    }
}
