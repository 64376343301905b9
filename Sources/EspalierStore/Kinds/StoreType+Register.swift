// The kinds of stores that descriptions can name: those of this library, and those that applications register.
//
// Invariants
//   1. A kind is opened by the closure that was registered last. Built-in kinds can be replaced, too: a test may count
//      or delay the calls of a store.

internal import EspalierModel
internal import Synchronization

extension StoreType {
    /// Opens a store of one kind.
    public typealias Opener = @Sendable (StoreOpening) throws -> any PersistentStore

    /// Guards the openers by kind.
    private static let openers = Mutex<[StoreType: Opener]>([
        .btree: { try BTreeStore.open($0) },
        .inMemory: { opening in
            try opening.requireOptions(among: [])
            return InMemoryStore(model: opening.model)
        },
        .binary: { try WholeGraphStore.openBinary($0) },
    ])

    /// Registers the kind, so that descriptions can name it (PS-10).
    ///
    /// - Parameter open: opens a store that is described; it must return a store that was made with the model of the
    ///   description. It runs on the thread that opens the store.
    public func register(_ open: @escaping Opener) { Self.openers.withLock { $0[self] = open } }

    /// The registered kinds, by name.
    public static var registered: [StoreType] {
        openers.withLock { $0.keys.sorted { $0.rawValue < $1.rawValue } }
    }

    /// Opens a store of this process's registered kinds.
    ///
    /// - Throws: `.unknownStoreType`; the error of the kind's own code, which is `.outside` if it is no `StoreError`;
    ///   `.brokenContract` if the store has another model.
    public static func open(_ opening: StoreOpening) throws(StoreError) -> any PersistentStore {
        guard let open = openers.withLock({ $0[opening.type] }) else { throw .unknownStoreType(opening.type) }
        let store: any PersistentStore
        do { store = try open(opening) } catch let error as StoreError { throw error } catch {
            throw .outside(path: opening.path, underlying: error)
        }
        guard store.model === opening.model else {
            try? store.close()
            throw .brokenContract(
                path: opening.path, store: opening.type.rawValue, reason: "it was opened with another model than asked")
        }
        return store
    }
}
