// The source of a context: where its objects are read and saved. A context knows its coordinator or parent only as
// that.
//
// Invariants every source keeps
//   1. Parts are read and saved each on its own (MC-40). No two parts ever have the same number, neither of two sources
//      nor if a store is closed and opened again.
//   2. What was saved before a snapshot is taken is in it.
// A coordinator has one part for each open store. A parent context has a single part, which holds the objects of all
// stores as the parent sees them, and takes a save as unsaved changes of the parent.

import EspalierModel
import EspalierStore

/// A coordinator or a parent context, as a context sees it.
protocol ObjectSource: AnyObject, Sendable {
    /// The model of all objects.
    var managedObjectModel: ManagedObjectModel { get }
    /// Goes up whenever parts come or go.
    var partsEdition: UInt64 { get }
    /// The parts, in the order in which new objects look for one that takes them.
    var parts: [SourcePart] { get }

    /// What a part holds now.
    func snapshot(of part: SourcePart) throws(StoreError) -> any StoreSnapshot
    /// Permanent IDs for objects that will be inserted into a part (MC-37).
    func reserveIDs(for entity: Entity, count: Int, in part: SourcePart) throws(StoreError) -> [ObjectID]
    /// Writes to a part: everything or nothing, against what it holds at that moment.
    func save(_ request: SaveRequest, in part: SourcePart) throws(StoreError) -> SaveResult

    /// A mailbox for saves of other contexts.
    ///
    /// - Parameter notice: called when a save comes into the empty mailbox, on the thread of the context that saved.
    func subscribe(notice: (@Sendable () -> Void)?) -> SaveMailbox
    /// Tells every receiver but the one that saved.
    func tell(_ changes: SavedChanges, except sender: SaveMailbox?)
}

/// A part of a source that is read and saved on its own: a store.
struct SourcePart: Sendable {
    /// Which part it is.
    let number: UInt64
    /// What IDs of its objects carry; `nil` = it holds objects of every ID.
    let storeTag: UInt32?
    /// The root entities whose hierarchies it takes; `nil` = all.
    let rootEntities: Set<ManagedObjectModel.EntityIndex>?
    /// Whether saving is refused.
    let isReadOnly: Bool
    /// The file; `nil` if there is none.
    let path: String?

    /// Whether it is the part that holds the object, if there is such an object.
    func holds(_ id: ObjectID) -> Bool { storeTag == nil || storeTag == id.storeTag }

    /// Whether it may hold objects of `entity`.
    func takes(_ entity: Entity) -> Bool { rootEntities?.contains(entity.root) ?? true }
}

extension ObjectSource {
    /// The part that holds the object; `nil` for a temporary ID or a store that is not open.
    func part(holding id: ObjectID) -> SourcePart? { parts.first { $0.holds(id) } }

    /// The part that a new object of `entity` goes to.
    ///
    /// - Throws: `ContextError.noStore` or `.readOnlyStore`.
    func partForNewObjects(of entity: Entity) throws(ContextError) -> SourcePart {
        let taking = parts.filter { $0.takes(entity) }
        if let part = taking.first(where: { !$0.isReadOnly }) { return part }
        guard let part = taking.first else { throw .noStore(entity: entity.name) }
        throw .readOnlyStore(path: part.path)
    }
}
