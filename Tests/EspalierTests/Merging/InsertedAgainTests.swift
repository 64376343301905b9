// An object that a context inserts again under its own ID, while another context inserts the same row again: a conflict
// that the merge policy decides.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct InsertedAgainTests {
    /// A guest whose saved deletion `mine` has undone, while `theirs`, who had changed it, has inserted it again.
    private final class Scene {
        let list: GuestList
        let mine: ManagedObjectContext
        let theirs: ManagedObjectContext
        let guest: ManagedObject
        let other: ManagedObject
        var id: ObjectID { other.objectID }

        /// - Parameters:
        ///   - depth: the number of contexts above `mine`.
        ///   - changes: whether `mine` changes the guest after the undo.
        init(_ kind: StoreKind, depth: Int = 0, changes: Bool = true) throws {
            list = try GuestList(kind)
            let id = try list.store("Guest", ["note": .string("old"), "rank": .integer(9)])
            let city = try list.store("City", ["name": .string("Ulm")])
            theirs = list.newContext()
            theirs.mergePolicy = .objectTrump
            other = try theirs.existingObject(with: id)
            try other.setValue(.string("theirs"), forKey: "note")
            try other.relate("city", to: try theirs.existingObject(with: city))
            list.context.automaticallyMergesChangesFromParent = true
            mine = (0..<depth).reduce(list.context) { context, _ in ManagedObjectContext(parent: context) }
            mine.undoManager = UndoStack()
            guest = try mine.existingObject(with: id)
            try mine.delete(guest)
            try saveAll()
            try mine.undo()
            if changes {
                try guest.setValue(.string("mine"), forKey: "note")
                try list.make("Gift", in: mine).relate("guest", to: guest)
            }
            mine.processPendingChanges()
            try theirs.save()
            for context in chain.reversed() { context.processPendingChanges() }
        }

        /// The contexts from `mine` to the root.
        private var chain: [ManagedObjectContext] {
            var chain = [mine]
            while let parent = chain.last?.parent { chain.append(parent) }
            return chain
        }

        func saveAll() throws { for context in chain { try context.save() } }

        var stored: String {
            get throws {
                let fresh = list.newContext()
                let guest = try fresh.existingObject(with: id)
                return "\(guest.guestText); \(try guest.ids("city").count) \(try guest.ids("gifts").count)"
            }
        }
    }

    @Test(arguments: StoreKind.allCases, [0, 2])
    func `two contexts that insert a row again are in conflict, and a save without a policy says so`(
        _ kind: StoreKind, _ depth: Int
    ) throws {
        let scene = try Scene(kind, depth: depth)
        for _ in 0..<2 {
            guard case .conflicts(let conflicts)? = contextError({ try scene.mine.save() }) else {
                Issue.record("no conflict")
                return
            }
            #expect(conflicts.map(\.object) == [scene.id] && conflicts.first?.oldVersion == 0)
            let note = conflicts.first?["note"]
            #expect(note?.mine == .string("mine") && note?.stored == .string("theirs") && note?.base == nil)
            #expect("\(conflicts)".contains("inserted again here"))
            #expect(scene.guest.isInserted && scene.guest.guestText == "none, none, mine, 9")
            #expect(try scene.stored == "none, none, theirs, 9; 1 0")
        }
        scene.mine.mergePolicy = .objectTrump
        try scene.saveAll()
        #expect(try scene.stored == "none, none, mine, 9; 0 1")
        try scene.list.check()
    }

    @Test(arguments: StoreKind.allCases, [MergePolicy.objectTrump, .overwrite, .storeTrump, .rollback])
    func `the policy decides which of two insertions of a row stays, and both ends of relationships agree`(
        _ kind: StoreKind, _ policy: MergePolicy
    ) throws {
        for depth in [0, 1] {
            let scene = try Scene(kind, depth: depth)
            scene.mine.mergePolicy = policy
            try scene.saveAll()

            let isMine = policy == .objectTrump || policy == .overwrite
            #expect(try scene.stored == (isMine ? "none, none, mine, 9; 0 1" : "none, none, theirs, 9; 1 0"))
            #expect(scene.guest.managedObjectContext === scene.mine && !scene.guest.hasChanges)
            scene.mine.compareWithFreshContext()
            scene.theirs.refreshAllObjects()
            scene.theirs.compareWithFreshContext()
            try scene.list.check()
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a policy of the application's own chooses among two insertions of a row`(_ kind: StoreKind) throws {
        let scene = try Scene(kind)
        scene.mine.mergePolicy = MergePolicy { conflict, _ in
            MergeResolution(
                .objectTrump,
                choices: [
                    "note": conflict.oldVersion == 0 ? .stored : .mine, "rank": .value(.integer(1)), "city": .stored,
                ])
        }
        try scene.mine.save()

        #expect(try scene.stored == "none, none, theirs, 1; 1 1")
        scene.mine.compareWithFreshContext()
    }

    @Test(arguments: StoreKind.allCases)
    func `the deletion can be redone after both have inserted the row again`(_ kind: StoreKind) throws {
        let scene = try Scene(kind, changes: false)
        scene.mine.mergePolicy = .overwrite
        try scene.mine.save()
        #expect(try scene.stored == "none, none, old, 9; 0 0")
        try scene.mine.redo()
        #expect(scene.guest.isDeleted)
        try scene.mine.undo()
        try scene.mine.save()
        #expect(try scene.stored == "none, none, old, 9; 0 0")
        try scene.mine.redo()
        try scene.mine.save()
        #expect(throws: ContextError.self) { try scene.stored }
        try scene.list.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `a row that the other context has deleted once more is inserted without a conflict`(
        _ kind: StoreKind
    ) throws {
        let scene = try Scene(kind)
        scene.mine.processPendingChanges()
        try scene.theirs.delete(scene.other)
        try scene.theirs.save()
        scene.mine.processPendingChanges()
        #expect(scene.guest.isInserted && !scene.guest.isDeleted)
        try scene.mine.save()

        #expect(try scene.stored == "none, none, mine, 9; 0 1")
        scene.mine.compareWithFreshContext()
    }
}
