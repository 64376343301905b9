// A parent context as the source of its children: the state that all children of one parent share.
//
// Invariants
//   1. A source retains its parent, and every child retains the source: a parent never ends before its children, and is
//      in their region of isolation. The parent refers to its source weakly.
//   2. `records` has the changed objects of the parent as children have last seen them; `changes` has the same ones as
//      values.
//   3. If nothing has changed, children get the same snapshot again.
// Elsewhere: how a snapshot is made (Children: +Snapshot), how a child saves (Children: +Save), and how the parent
// returns to `records` if that fails (ParentCheckpoint).

import EspalierModel
import EspalierStore
import Synchronization

/// A parent context, as its children see it.
final class ParentSource: ObjectSource {
    /// The state of a changed object when children have last seen it.
    ///
    /// Changes that a record keeps do not change any more (`ObjectChanges.isShared`): if the object still has the same
    /// ones, it has not changed.
    struct Record {
        let changes: ObjectChanges?
        let newValues: RowValues?
        /// The version of the row; `nil` if there is none.
        let version: UInt64?
        /// All flags, although children are concerned by few of them: the object may have to return to this state.
        let state: ManagedObject.State
    }

    /// The state of the parent on which a snapshot depends.
    struct Moment: Equatable {
        let changeCount: Int
        let readCount: Int
        let bases: [ObjectIdentifier]
    }

    let parent: ManagedObjectContext
    let entities: EntitiesByTag
    var records = ObjectIDTable<Record>()
    var changes: OverlayChanges
    /// The number of changes that children have seen and that the parent has taken back, other than by a save.
    var revokedCount = 0
    /// The snapshot that children got last, and the moment of it.
    var latest: (snapshot: OverlaySnapshot, moment: Moment)?
    var lastGeneration: UInt64 = 0
    /// The read that goes up the tree of the parent, and the number of the last one for which the parent has merged.
    let upwardRead: UpwardRead
    var mergedRead: UInt64 = 0
    private var part: SourcePart
    private var edition: UInt64
    private var mailboxes = WeakList<SaveMailbox>()
    private var members = WeakList<ManagedObjectContext>()
    /// The version that a changed object of some parent got last; no store counts as far.
    private static let lastVersion = Atomic<UInt64>(1 << 48)

    init(_ parent: ManagedObjectContext) {
        self.parent = parent
        entities = EntitiesByTag(parent.model)
        changes = OverlayChanges(entityCount: parent.model.entities.count)
        edition = parent.source.partsEdition
        part = Self.newPart()
        upwardRead = (parent.source as? ParentSource)?.upwardRead ?? UpwardRead()
    }

    /// A version that no row has had before.
    static func newVersion() -> UInt64 { lastVersion.add(1, ordering: .relaxed).newValue }

    // MARK: Children

    /// The children that were not released, in the order in which they were made.
    var children: [ManagedObjectContext] { members.objects }

    /// Adds a new child.
    ///
    /// - Complexity: O(1), amortized.
    func add(_ child: ManagedObjectContext) { members.append(child) }

    // MARK: Parts

    private static func newPart() -> SourcePart {
        SourcePart(
            number: SourcePart.newNumber(), storeTag: nil, rootEntities: nil, isReadOnly: false, path: nil,
            outsideType: nil)
    }

    var managedObjectModel: ManagedObjectModel { parent.model }
    var partsEdition: UInt64 { parent.source.partsEdition }

    /// The one part, which is another one after a store was added or removed.
    var parts: [SourcePart] {
        if edition != partsEdition { (edition, part) = (partsEdition, Self.newPart()) }
        return [part]
    }

    func partForNewObjects(of entity: Entity) throws(ContextError) -> SourcePart {
        _ = try parent.source.partForNewObjects(of: entity)
        return parts[0]
    }

    func checkIsNotSaving() throws(ContextError) {
        try parent.checkIsNotSaving()
        // The object whose hook runs would lose what the child has changed.
        if parent.turningCount > 0 { throw .alreadySaving(hook: "willTurnIntoFault or didTurnIntoFault", object: nil) }
        try parent.source.checkIsNotSaving()
    }

    // MARK: Messages

    func subscribe(notice: (@Sendable () -> Void)?) -> SaveMailbox {
        let mailbox = SaveMailbox(notice: notice)
        mailboxes.append(mailbox)
        return mailbox
    }

    func tell(_ changes: SavedChanges, except sender: SaveMailbox?) {
        for mailbox in mailboxes.objects where mailbox !== sender { mailbox.deliver(changes) }
    }

    func beginRead() { upwardRead.begin() }

    func endRead() { upwardRead.end() }

    /// Tells children that merge automatically to read everything again.
    func tellEverything() { tell(SavedChanges(isEverything: true), except: nil) }
}
