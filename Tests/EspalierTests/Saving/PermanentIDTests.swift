// A new object that already has its permanent ID (MC-37): it has no row yet, and every operation respects that.

import Espalier
import EspalierModel
import Testing

@Suite struct PermanentIDTests {
    /// Two saved artists with one album each, and a new artist with a permanent ID.
    private func scene(_ kind: StoreKind) throws -> (stack: Stack, artists: [Artist], new: Artist) {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        let new = Artist(context: stack.context)
        new.name = "New"
        try stack.context.obtainPermanentIDs(for: [new])
        #expect(!new.objectID.isTemporary && new.isInserted && !new.isFault)
        return (stack, artists, new)
    }

    @Test(arguments: StoreKind.allCases)
    func `fetches and predicates find it as unsaved, before and after the save`(_ kind: StoreKind) throws {
        let (stack, artists, new) = try scene(kind)
        let request = FetchRequest<Artist>(sortedBy: [SortKey("name", ascending: false)])
        let unsaved = FetchRequest<Artist>(
            try FetchPredicate(format: "SELF IN %@", argumentArray: [[artists[0].objectID, new.objectID]]))
        for isSaved in [false, true] {
            if isSaved { try stack.context.saveAndCompare() }
            #expect(try stack.context.fetch(request).map(\.name) == ["New", "Artist 1", "Artist 0"])
            #expect(try stack.context.fetchIDs(request).first == new.objectID)
            #expect(try stack.context.count(for: request) == 3)
            #expect(try stack.context.fetch(unsaved).count == 2)
            #expect(try stack.context.existingObject(with: new.objectID) === new)
            let alone = FetchRequest<Artist>(try FetchPredicate(format: "albums.@count == 0"))
            #expect(try stack.context.fetch(alone) == [new])
            #expect(new.isInserted != isSaved)
        }
        #expect(try stack.stored(Artist.self).contains { $0.objectID == new.objectID && $0.name == "New" })
    }

    @Test(arguments: StoreKind.allCases)
    func `its lists are not asked of the store, and are right after the save`(_ kind: StoreKind) throws {
        let stack = try Stack(kind, classes: teamClasses)
        let boss = Member(context: stack.context)
        let reports = (0..<3).map { number in
            let report = Member(context: stack.context)
            (report.number, report.boss) = (number, boss)
            return report
        }
        try stack.context.save()
        let new = Member(context: stack.context)
        try stack.context.obtainPermanentIDs(for: [new])
        new.boss = boss
        // All members of the list are one cohort: the context reads their own lists together.
        let members = Array(boss.reports)
        #expect(members.count == 4 && members.contains(new))
        #expect(reports[0].reports.isEmpty && Set(reports[1].reports).isEmpty)
        let below = Member(context: stack.context)
        below.boss = new
        #expect(new.reports.count == 1 && new.reports.contains(below))

        try stack.context.saveAndCompare()

        #expect(new.reports.count == 1 && Set(new.reports) == [below])
        #expect(try stack.stored(Member.self).first { $0.objectID == new.objectID }?.reports.count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `an object that is inserted again keeps it among its destinations`(_ kind: StoreKind) throws {
        for property in ["tags", "list"] {
            let board = try PegBoard(kind, count: 3, [("0", property, ["1"])])
            board.mine.mergePolicy = .overwrite
            let new = Peg(context: board.mine)
            new.name = "new"
            try board.mine.obtainPermanentIDs(for: [new])
            try board.set("0", property, ["1", "new"], in: board.mine)
            try board.set("0", "a", ["5"], in: board.mine)
            try board.theirs.delete(try board.peg("0", in: board.theirs))
            try board.theirs.save()

            try board.mine.save()

            let stored = try board.stored()
            #expect(stored["0"]?[property]?.sorted() == ["1", "new"], "\(property)")
            try board.expectAgreement("\(property)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `deleted before the save, or rolled back, it leaves nothing`(_ kind: StoreKind) throws {
        for isDeleted in [true, false] {
            let (stack, artists, new) = try scene(kind)
            let id = new.objectID
            let album = try #require(artists[0].albums.first)
            album.artist = new
            if isDeleted {
                try stack.context.delete(new)
                stack.context.processPendingChanges()
                #expect(album.artist == nil || album.isDeleted)
            } else {
                stack.context.rollback()
                #expect(album.artist === artists[0])
            }
            #expect(new.managedObjectContext == nil && stack.context.registeredObject(for: id) == nil)
            #expect(try stack.context.count(for: FetchRequest<Artist>()) == 2)
            try stack.context.saveAndCompare()
            #expect(try stack.stored(Artist.self).allSatisfy { $0.objectID != id })
            #expect(contextError { _ = try stack.context.existingObject(with: id) } != nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `locks, refreshes and merges leave it new, and a save that fails leaves its ID`(_ kind: StoreKind) throws {
        let (stack, artists, new) = try scene(kind)
        let id = new.objectID
        stack.context.automaticallyMergesChangesFromParent = true
        try stack.context.detectConflicts(for: new)
        let other = stack.newContext()
        try #require(try other.existingObject(with: artists[0].objectID) as? Artist).name = "Theirs"
        try other.save()

        stack.context.refresh(new, mergesChanges: false)
        stack.context.refreshAllObjects()
        stack.context.processPendingChanges()
        #expect(new.isInserted && new.name == "New" && new.objectID == id && !new.isDeleted)
        try new.setValue(.null, forKey: "name")
        #expect(violations { try stack.context.save() }.count == 1)
        #expect(new.isInserted && new.objectID == id)

        new.name = "New"
        try stack.context.saveAndCompare()
        #expect(!new.isInserted && new.objectID == id && artists[0].name == "Theirs")
    }

    // MARK: Calls that fail

    private struct Failure: Error {}

    @Test(arguments: StoreKind.allCases, [false, true])
    func `a transaction that fails leaves the IDs that a child has read in it (MC-45)`(
        _ kind: StoreKind, _ isNested: Bool
    ) throws {
        let stack = try Stack(kind)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let (artist, album) = (Artist(context: root), Album(context: root))
        (artist.name, album.title, album.artist) = ("Ada", "first", artist)
        var read: Artist?
        func fail() throws {
            read = try child.fetch(FetchRequest<Artist>()).first
            album.artist = nil
            Artist(context: root).name = "lost"
            throw Failure()
        }

        func failWithin() throws {
            guard isNested else { return try fail() }
            #expect(throws: Failure.self) { try root.transaction { try fail() } }
            throw Failure()
        }

        #expect(throws: Failure.self) { try root.transaction { try failWithin() } }

        let seen = try #require(read)
        let id = seen.objectID
        #expect(artist.objectID == id && !id.isTemporary && root.registeredObject(for: id) === artist)
        #expect(album.artist === artist && artist.albums == [album] && root.insertedObjects == [artist, album])
        child.processPendingChanges()
        #expect(!seen.isDeleted && seen.albums.map(\.title) == ["first"])
        seen.name = "Bea"
        try child.save()
        try root.saveAndCompare()
        #expect(artist.objectID == id && seen.objectID == id && seen.name == "Bea")
        let stored = try stack.stored(Artist.self)
        #expect(stored.map(\.objectID) == [id] && stored.map(\.name) == ["Bea"] && stored[0].albums.count == 1)
    }

    @Test func `a save that fails leaves the IDs that a child has read in a hook of it (MC-45)`() throws {
        let board = try BeadBoard(.memory, count: 1)
        let root = ManagedObjectContext(board.coordinator)
        let child = ManagedObjectContext(parent: root)
        try board.bead(0, in: root).setValue(.integer(7), forKey: "code")
        try root.save()
        let (new, next) = (Bead(context: root), Bead(context: root))
        // The store refuses a second bead of this code.
        try new.setValue(.integer(7), forKey: "code")
        try next.setValue(.toOne(new), forKey: "best")
        var read: [ObjectID] = []
        new.onSave = { _ in read = (try? child.fetchIDs(FetchRequest<Bead>())) ?? [] }

        guard case .constraints? = contextError({ try root.save() }) else {
            Issue.record("two beads have one code")
            return
        }

        #expect(read.count == 3 && Set(read).isSuperset(of: [new.objectID, next.objectID]))
        #expect(try next.objectIDs(forRelationshipNamed: "best") == [new.objectID])
        #expect(try new.objectIDs(forRelationshipNamed: "fans") == [next.objectID])
        try new.setValue(.integer(8), forKey: "code")
        try root.save()
        #expect(try Set(ManagedObjectContext(board.coordinator).fetchIDs(FetchRequest<Bead>())) == Set(read))
        #expect(try child.existingObject(with: next.objectID).objectIDs(forRelationshipNamed: "best") == [new.objectID])
    }

    @Test func `IDs that new objects get are no changes that can be undone`() throws {
        let stack = try Stack(.inMemory)
        let (context, manager) = (stack.context, UndoStack())
        context.undoManager = manager
        let (artist, album) = (Artist(context: context), Album(context: context))
        (artist.name, album.title, album.artist) = ("Ada", "first", artist)
        context.processPendingChanges()
        #expect(manager.undoCount == 1)

        try context.obtainPermanentIDs(for: [artist, album])
        context.processPendingChanges()

        #expect(manager.undoCount == 1 && album.artist === artist)
        try context.undo()
        #expect(!context.hasChanges && artist.managedObjectContext == nil)
    }
}
