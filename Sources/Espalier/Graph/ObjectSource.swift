// The source of a context: it reads and saves the context's objects. A context knows its coordinator or parent only
// through this protocol.
//
// Invariants of every source
//   1. Parts are read and saved each on its own (MC-40). No two parts ever have the same number, neither in two sources
//      nor after a store is closed and opened again.
//   2. A snapshot contains everything that was saved before the snapshot was taken.
//   3. A source is used in the isolation of its contexts. A coordinator may be used in several at once; a parent is in
//      the isolation of its children, because they retain it and it is not Sendable.
// A coordinator has one part for each open store. A parent context has a single part, which holds the objects of all
// stores as the parent sees them; a save to that part becomes unsaved changes of the parent.

import EspalierModel
import EspalierStore
import Synchronization

/// A coordinator or a parent context, as a context sees it.
protocol ObjectSource: AnyObject {
    /// The model of all objects.
    var managedObjectModel: ManagedObjectModel { get }
    /// Incremented whenever a part is added or removed.
    var partsEdition: UInt64 { get }
    /// The parts, in the order in which a new object searches for one that accepts it.
    var parts: [SourcePart] { get }

    /// A snapshot of the current content of a part.
    func snapshot(of part: SourcePart) throws(StoreError) -> any StoreSnapshot
    /// Reserves permanent IDs for objects that will be inserted into a part (MC-37).
    func reserveIDs(for entity: Entity, count: Int, in part: SourcePart) throws(StoreError) -> [ObjectID]
    /// Writes to a part, everything or nothing, and checks the request against the part's content at that moment.
    ///
    /// - Parameter origin: the context that has made the request; a source of another isolation leaves it alone.
    func save(
        _ request: SaveRequest, from origin: SaveOrigin, in part: SourcePart
    ) throws(StoreError) -> SaveResult

    /// Makes a mailbox for saves of other contexts.
    ///
    /// - Parameter notice: called when a save is delivered to the empty mailbox, on the thread of the context that
    ///   saved.
    func subscribe(notice: (@Sendable () -> Void)?) -> SaveMailbox
    /// Delivers changes to every mailbox except the sender's.
    func tell(_ changes: SavedChanges, except sender: SaveMailbox?)

    /// Begins a save, which is a writer until `endWriting`, after its message was delivered; returns its number.
    func beginWriting() -> UInt64
    /// Ends a save that `beginWriting` has begun.
    func endWriting(_ writer: UInt64)
    /// The saves that stores may have and whose messages may not have been delivered.
    var writers: Set<UInt64> { get }

    /// The part for a new object of `entity`.
    ///
    /// - Throws: `ContextError.noStore` or `.readOnlyStore`.
    func partForNewObjects(of entity: Entity) throws(ContextError) -> SourcePart
    /// Throws if a save to this source would disturb a running save of it.
    func checkIsNotSaving() throws(ContextError)
    /// Delivers changes that are not in the mailboxes yet.
    func tellWaitingChanges()
    /// Begins a read of what is newest, until `endRead`: the contexts above merge once for all that it asks.
    func beginRead()
    /// Ends what `beginRead` has begun.
    func endRead()
}

/// A part of a source that is read and saved on its own: a store.
struct SourcePart: Sendable {
    /// The unique number of the part.
    let number: UInt64
    /// The store tag in IDs of its objects; `nil` = it holds objects of every ID.
    let storeTag: UInt32?
    /// The root entities whose hierarchies it accepts; `nil` = all.
    let rootEntities: Set<ManagedObjectModel.EntityIndex>?
    /// Whether saving is refused.
    let isReadOnly: Bool
    /// The path of its file; `nil` if it has none.
    let path: String?
    /// The kind of the store, if the code of an application gives new rows their IDs; otherwise `nil`.
    let outsideType: String?

    /// Whether this part, and no other, holds the object if it exists.
    func holds(_ id: ObjectID) -> Bool { storeTag == nil || storeTag == id.storeTag }

    /// Whether it may hold objects of `entity`.
    func takes(_ entity: Entity) -> Bool { rootEntities?.contains(entity.root) ?? true }

    /// The part number that was assigned last, in all sources.
    private static let lastNumber = Atomic<UInt64>(0)

    /// A number that no part has had before.
    static func newNumber() -> UInt64 { lastNumber.add(1, ordering: .relaxed).newValue }
}

extension ObjectSource {
    /// The part that holds the object; `nil` for a temporary ID or a store that is not open.
    func part(holding id: ObjectID) -> SourcePart? { parts.first { $0.holds(id) } }

    /// The part for a new object of `entity`: the first writable one that accepts it.
    ///
    /// - Throws: `ContextError.noStore` or `.readOnlyStore`.
    func partForNewObjects(of entity: Entity) throws(ContextError) -> SourcePart {
        let taking = parts.filter { $0.takes(entity) }
        if let part = taking.first(where: { !$0.isReadOnly }) { return part }
        guard let part = taking.first else { throw .noStore(entity: entity.name) }
        throw .readOnlyStore(path: part.path)
    }

    func checkIsNotSaving() {}

    func tellWaitingChanges() {}

    func beginRead() {}

    func endRead() {}

    // A parent is in the isolation of its children: none of them runs between a save and its message.

    func beginWriting() -> UInt64 { 0 }

    func endWriting(_ writer: UInt64) {}

    var writers: Set<UInt64> { [] }
}
