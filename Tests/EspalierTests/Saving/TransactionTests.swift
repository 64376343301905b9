// Transactions: what a closure does is saved together, or nothing of it stays.

import Espalier
import EspalierModel
import Testing

@Suite struct TransactionTests {
    private struct Failure: Error {}

    private func names(_ stack: Stack) throws -> [String] { try stack.stored(Artist.self).map(\.name).sorted() }

    @Test(arguments: StoreKind.allCases)
    func `a transaction saves what its closure does, with what was changed before (SD-15)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        Artist(context: stack.context).name = "before"
        let artist = try stack.context.transaction {
            let artist = Artist(context: stack.context)
            artist.name = "in it"
            let count = try stack.context.fetch(FetchRequest<Artist>()).count
            #expect(count == 2)
            return artist
        }

        #expect(!artist.hasChanges && !artist.objectID.isTemporary)
        #expect(try names(stack) == ["before", "in it"])
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `a closure that throws leaves context, objects and undo as they were`(
        _ kind: StoreKind, _ isChild: Bool
    ) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let context = isChild ? ManagedObjectContext(parent: stack.context) : stack.context
        context.undoManager = UndoStack()
        let artists = try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        artists[0].name = "changed before"
        let new = Artist(context: context)
        new.name = "new before"
        context.processPendingChanges()
        let undoCount = context.undoManager?.undoCount
        var events = 0
        let token = context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { _ in events += 1 }
        var made: Artist?
        let error = #expect(throws: Failure.self) {
            try context.transaction(author: "Ada") {
                #expect(context.transactionAuthor == "Ada")
                artists[0].name = "again"
                artists[1].name = "changed in it"
                new.name = "renamed"
                made = Artist(context: context)
                try context.delete(artists[1])
                #expect(try context.fetch(FetchRequest<Artist>()).count == 3)
                throw Failure()
            }
        }
        withExtendedLifetime(token) {}

        #expect(error != nil && context.transactionAuthor == nil)
        #expect(artists.map(\.name) == ["changed before", "Artist 1"] && new.name == "new before")
        #expect(!artists[1].isDeleted && !artists[1].hasChanges && artists[1].albums.count == 2)
        #expect(context.insertedObjects == [new] && context.updatedObjects == [artists[0]])
        #expect(made?.managedObjectContext == nil && context.deletedObjects.isEmpty)
        #expect(context.undoManager?.undoCount == undoCount && events == 0)
        try context.save()
        if isChild { try stack.context.save() }
        #expect(try names(stack) == ["Artist 1", "changed before", "new before"])
    }

    @Test func `a save that fails takes back what the closure has done, and the next one works`() throws {
        let stack = try Stack(.btree)
        Artist(context: stack.context).name = "a"
        let error = contextError {
            try stack.context.transaction {
                // An artist without a name breaks a rule.
                Artist(context: stack.context).founded = 1950
            }
        }
        guard case .violations? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(stack.context.insertedObjects.count == 1)
        try stack.context.transaction {}
        #expect(try names(stack) == ["a"])
    }

    @Test func `in a transaction nothing is saved, undone, merged or forgotten on its own`() throws {
        let stack = try Stack(.inMemory)
        let context = stack.context
        context.undoManager = UndoStack()
        context.automaticallyMergesChangesFromParent = true
        let artist = Artist(context: context)
        artist.name = "a"
        try context.save()
        let other = stack.newContext()
        let child = ManagedObjectContext(parent: context)
        try context.transaction {
            artist.name = "b"
            guard case .alreadySaving("the closure of a transaction", nil)? = contextError({ try context.save() })
            else {
                Issue.record("a save in a transaction")
                return
            }
            Artist(context: child).name = "c"
            #expect(throws: ContextError.self) { try child.save() }
            #expect(throws: UndoError.self) { try context.undo() }
            #expect(try context.fetch(FetchRequest<Artist>()).map(\.name) == ["b"])
            Artist(context: other).name = "d"
            try other.save()
            context.processPendingChanges()
            #expect(try context.fetch(FetchRequest<Artist>()).map(\.name) == ["b"])
        }
        #expect(try names(stack) == ["b", "d"])
        try context.undo()
        #expect(artist.name == "a")
        let error = contextError { try context.transaction { context.rollback() } }
        #expect("\(String(describing: error))".contains("rollback()"))
        #expect(artist.name == "a" && artist.hasChanges)
    }

    @Test func `a transaction within one takes back its own part, and saves with the outer one`() throws {
        let stack = try Stack(.btree)
        try stack.context.transaction {
            Artist(context: stack.context).name = "outer"
            #expect(throws: Failure.self) {
                try stack.context.transaction {
                    Artist(context: stack.context).name = "lost"
                    throw Failure()
                }
            }
            try stack.context.transaction { Artist(context: stack.context).name = "inner" }
            #expect(try names(stack).isEmpty)
        }
        #expect(try names(stack) == ["inner", "outer"])
    }

    @Test func `an error of a closure is taken back whatever it is, also one that another context's save has thrown`()
        throws
    {
        let stack = try Stack(.inMemory)
        let context = stack.context
        let artist = Artist(context: context)
        artist.name = "before"
        func fail(_ isNested: Bool) throws {
            if isNested { return try context.transaction { try fail(false) } }
            Artist(context: context).name = "lost"
            artist.name = "lost"
            throw ContextError.partlySaved(underlying: .noStore(entity: "Artist"))
        }
        for isNested in [false, true] {
            let error = contextError { try context.transaction { try fail(isNested) } }

            guard case .partlySaved(.noStore)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(context.insertedObjects == [artist] && artist.name == "before")
        }
    }
}
