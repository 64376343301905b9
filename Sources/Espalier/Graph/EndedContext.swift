// The one misuse that stops the program: asking an object for what its context knows after the context has ended.
//
// A property cannot throw, and an answer of `nil` would be taken for an empty relationship or a missing value. Dynamic
// access throws `ContextError.contextEnded` instead. A context that forgot the object by `reset()` and still lives
// reports at its next save what was asked of the object.

import EspalierModel

extension ManagedObject {
    /// Whether the context has ended before the object did.
    final var isContextEnded: Bool { withShape { $0.isContextEnded } && wasRegistered }

    /// Whether the values are in memory, of a stored object or of a new one.
    final var hasValues: Bool { hasRow || newValues != nil || isFulfilled }

    /// Stops the program if the context has ended: the caller needs it to answer truthfully.
    ///
    /// Called on slow paths only: a value that is in memory is read without it.
    @inline(never)
    final func requireContext() {
        guard isContextEnded else { return }
        // `preconditionFailure` prints no message in a release build.
        fatalError(ContextError.contextEnded(storedID).description)
    }

    /// Throws if the context has ended and the object's values are not in memory.
    final func requireContextOrValues() throws(ContextError) {
        if !hasValues && isContextEnded { throw .contextEnded(storedID) }
    }
}
