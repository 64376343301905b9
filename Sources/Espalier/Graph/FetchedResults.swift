// The results of fetched properties that the objects of a context have read, until the objects are refreshed (FR-24).
//
// Invariants
//   1. A result retains no stored object, so objects whose results contain each other are freed all the same. It
//      retains those that were new when it was made: the context retains these too, until they are saved.
//   2. An object that is freed takes its results with it: another object may get its address.

import EspalierModel

/// The results of fetched properties, by object and name.
final class FetchedResults {
    /// One object of a result.
    enum Member {
        case stored(ObjectID)
        /// An object that was new when the result was made: its ID changes when it is saved.
        case new(ManagedObject)

        init(_ object: ManagedObject) { self = object.isInserted ? .new(object) : .stored(object.storedID) }

        /// Whether the result retains the object.
        var isRetained: Bool { if case .new = self { true } else { false } }
    }

    private var results: [ObjectIdentifier: [String: [Member]]] = [:]

    /// The result that `owner` has read before.
    func members(of name: String, for owner: ManagedObject) -> [Member]? { results[ObjectIdentifier(owner)]?[name] }

    /// Keeps a result.
    func keep(_ objects: [ManagedObject], of name: String, for owner: ManagedObject) {
        let former = results[ObjectIdentifier(owner)]
        results[ObjectIdentifier(owner), default: [:]][name] = objects.map(Member.init)
        // An object that this releases may forget results in turn, after the change of the dictionary.
        withExtendedLifetime(former) {}
    }

    /// Forgets the results of an object that is refreshed or freed.
    func forget(_ owner: ManagedObject) {
        guard !results.isEmpty else { return }
        let former = results.removeValue(forKey: ObjectIdentifier(owner))
        withExtendedLifetime(former) {}
    }
}
