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

    /// The application makes objects by IDs of rows that do not exist yet, and then a new object gets one of them.
    @Test(arguments: StoreKind.allCases, [false, true])
    func `an object that was made by the ID of a later row makes room for the object of that row`(
        _ kind: StoreKind, isReserved: Bool
    ) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let context = stack.context
        let last = try #require(try context.fetchIDs(FetchRequest<Artist>()).max { $0.key < $1.key })
        let store = try #require(last.storeIdentifier)
        let early = try (UInt64(1)...3).map { step in
            try context.object(with: ObjectID(entityName: "Artist", storeIdentifier: store, key: last.key + step))
        }
        let new = Artist(context: context)
        new.name = "New"

        if isReserved { try context.obtainPermanentIDs(for: [new]) } else { try context.save() }

        let made = try #require(early.first { $0.objectID == new.objectID }, "no object has the ID \(new.objectID)")
        #expect(made !== new && made.managedObjectContext == nil && !made.hasChanges)
        #expect(try context.object(with: new.objectID) === new && new.name == "New")
        #expect(context.registeredObjects.filter { $0.objectID == new.objectID } == [new])
        try context.save()
        #expect(try stack.stored(Artist.self).filter { $0.name == "New" }.map(\.objectID) == [new.objectID])
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
}
