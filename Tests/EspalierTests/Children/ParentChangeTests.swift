// Rows and changes that a child's save hands on to the parent without a copy, and the cases in which the parent must
// not rely on what the child has.

import EspalierModel
import EspalierStore
import Synchronization
import Testing

@testable import Espalier

@Suite struct ParentChangeTests {
    private func artist(_ name: String, in context: ManagedObjectContext) throws -> Artist {
        let request = FetchRequest<Artist>(try FetchPredicate(format: "name == %@", name))
        return try #require(try context.fetch(request).first)
    }

    /// The objects of the conflicts for which a save is refused; none if it is not.
    private func conflicts(_ context: ManagedObjectContext) -> [ObjectID] {
        contextError { try context.save() }?.conflicts.map(\.object) ?? []
    }

    /// A store of numbered duties that counts the rows that are read by ID.
    private final class Duties {
        let coordinator: PersistentStoreCoordinator
        private let rowsRead = Counter()

        /// The number of rows that were read by ID.
        var rowsReadCount: Int { rowsRead.count.load(ordering: .relaxed) }

        private final class Counter: Sendable {
            let count = Atomic(0)
        }

        init(_ count: Int) throws {
            let model = try ManagedObjectModel(for: teamClasses)
            coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            coordinator.add(
                WatchedStore(model: model) { [rowsRead] call in
                    if case .rows(let ids) = call { rowsRead.count.add(ids.count, ordering: .relaxed) }
                })
            let writer = ManagedObjectContext(coordinator)
            for number in 0..<count { Duty(context: writer).number = number }
            try writer.save()
        }

        /// The duties by number, as a context has them.
        func duties(in context: ManagedObjectContext) throws -> [Duty] {
            try context.fetch(FetchRequest<Duty>(sortedBy: [SortKey("number")]))
        }
    }

    @Test(arguments: [1, 50])
    func `saves through two levels read no row, and hand on one change and one row of each object`(
        _ count: Int
    ) throws {
        let store = try Duties(count)
        let root = ManagedObjectContext(store.coordinator)
        let child = ManagedObjectContext(parent: root)
        let grandchild = ManagedObjectContext(parent: child)
        let duties = try store.duties(in: grandchild)
        for duty in duties { duty.number += 1 }
        let changes = try duties.map { try #require($0.changes) }
        let before = store.rowsReadCount

        try grandchild.save()
        // The child keeps objects without changes only as long as somebody else does.
        let middle = try duties.map { try #require(child.registeredObject(for: $0.objectID)) }
        let between = middle.map(\.changes)
        try child.save()

        #expect(store.rowsReadCount == before)
        let isHandedOn = between.elementsEqual(changes, by: ===)
        #expect(isHandedOn)
        for ((duty, here), changes) in zip(zip(duties, middle), changes) {
            #expect(root.registeredObject(for: duty.objectID)?.changes === changes)
            #expect(duty.changes == nil && here.changes == nil)
            let contents = [duty, here].map { $0.withRow { content, _ in ObjectIdentifier(content) } }
            #expect(contents[0] == contents[1] && contents[0] != nil)
        }
        #expect(child.childSource?.changes.savedVersions.isEmpty == true)
        try root.save()
        for duty in duties { duty.number += 1 }
        for context in [grandchild, child, root] { try context.save() }
        let stored = try store.duties(in: ManagedObjectContext(store.coordinator))
        #expect(stored.map(\.number) == Array(2..<count + 2))
    }

    @Test func `a save of a child reads no row that its parent has in memory, whatever else has changed`() throws {
        let store = try Duties(20)
        let root = ManagedObjectContext(store.coordinator)
        let child = ManagedObjectContext(parent: root)
        let (above, here) = (try store.duties(in: root), try store.duties(in: child))
        above[19].number += 100
        child.processPendingChanges()
        for duty in here.prefix(19) { duty.number += 1 }
        let before = store.rowsReadCount

        try child.save()

        #expect(store.rowsReadCount == before)
        #expect(above.map(\.number) == Array(1...19) + [119])
    }

    @Test func `changes that a child has saved are its parent's alone afterwards`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 1)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let (above, here) = (try artist("Artist 0", in: root), try artist("Artist 0", in: child))
        here.name = "a"
        try child.save()

        here.name = "b"
        #expect(above.name == "a")
        above.founded = 1
        #expect(above.name == "a" && here.name == "b" && here.founded == 1950)
        child.rollback()
        #expect(here.name == "a" && above.name == "a")
        root.rollback()
        #expect(above.name == "Artist 0" && above.founded == 1950)
    }

    @Test func `an undo of a parent takes back values of attributes that a child has saved alone`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 1)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        root.undoManager = UndoStack()
        let above = try artist("Artist 0", in: root)
        try artist("Artist 0", in: child).name = "Bea"
        try child.save()
        #expect(above.name == "Bea")

        try root.undo()

        #expect(above.name == "Artist 0")
    }

    @Test(arguments: StoreKind.allCases)
    func `a child's save finds what its parent has read since the child read an older row (MC-46)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let (root, other) = (stack.newContext(), stack.newContext())
        let child = ManagedObjectContext(parent: root)
        child.automaticallyMergesChangesFromParent = false
        let (used, refreshed) = (try artist("Artist 0", in: child), try artist("Artist 1", in: child))
        #expect(used.founded == 1950)
        try artist("Artist 0", in: other).name = "Bea"
        try other.save()
        root.refreshAllObjects()
        // The child reads what the parent reads now, and keeps the row of the object in use.
        child.refresh(refreshed, mergesChanges: false)
        used.founded = 1

        #expect(conflicts(child) == [used.objectID])
    }

    @Test(arguments: StoreKind.allCases)
    func `a child's save finds that its parent has deleted what the child has inserted before its first read`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        child.automaticallyMergesChangesFromParent = false
        let new = Artist(context: child)
        new.name = "new"
        try child.save()
        try root.delete(try #require(root.registeredObject(for: new.objectID)))
        root.processPendingChanges()
        #expect(try child.fetch(FetchRequest<Artist>()).isEmpty)
        new.founded = 1

        #expect(conflicts(child) == [new.objectID])
    }

    @Test func `a child's save finds what a hook of its parent has discarded in the save before (MC-46)`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: [Bell.self]))
        try coordinator.addPersistentStore(.inMemory)
        let writer = ManagedObjectContext(coordinator)
        for number in 0..<2 { Bell(context: writer).number = number }
        try writer.save()
        let root = ManagedObjectContext(coordinator)
        let child = ManagedObjectContext(parent: root)
        child.automaticallyMergesChangesFromParent = false
        let request = FetchRequest<Bell>(sortedBy: [SortKey("number")])
        try root.fetch(request).first?.number = 5
        let bells = try child.fetch(request)
        #expect(bells.map(\.number) == [1, 5])
        let discard: () -> Void = { [unowned root] in
            for object in root.updatedObjects { root.refresh(object, mergesChanges: false) }
        }
        root.userInfo["onFetch"] = discard
        bells[0].number = 7
        try child.save()
        root.userInfo["onFetch"] = nil
        bells[1].number = 8

        #expect(conflicts(child) == [bells[1].objectID])
    }

    @Test(arguments: StoreKind.allCases)
    func `a child sees what its parent reads anew below a change that the child has seen`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 1)
        let (root, other) = (stack.newContext(), stack.newContext())
        let child = ManagedObjectContext(parent: root)
        let above = try artist("Artist 0", in: root)
        above.name = "Bea"
        let here = try artist("Bea", in: child)
        #expect(here.founded == 1950)
        try artist("Artist 0", in: other).founded = 1
        try other.save()

        root.refresh(above, mergesChanges: true)
        child.processPendingChanges()

        #expect(here.name == "Bea" && here.founded == 1)
    }
}

/// An object that calls a closure of its context when its fault fires.
private final class Bell: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription("Bell", properties: [EntityDescription._property("number", Int.self, defaultValue: 0)])
    }
    var number: Int {
        get { _get("number", at: 0) }
        set { _set("number", at: 0, newValue) }
    }

    override func awakeFromFetch() { (managedObjectContext?.userInfo["onFetch"] as? () -> Void)?() }
}
