// Data of an application that can be changed: the rules of the model hold, and a source that breaks the contract gets a
// typed error, which changes nothing.

import Espalier
import Foundation
import Synchronization
import Testing

@Suite struct ShelfStoreTests {
    let source: ShelfSource
    let store: IncrementalStore
    let coordinator: PersistentStoreCoordinator
    let context: ManagedObjectContext

    init() throws {
        let model = try ManagedObjectModel(for: libraryClasses)
        source = ShelfSource(model: model)
        store = IncrementalStore(source, type: StoreType(rawValue: "Shelf"), model: model)
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        context = ManagedObjectContext(coordinator)
        let ursula = Author(context: context)
        ursula.name = "Ursula"
        for (title, year) in [("Rocannon", 1966), ("Planet", 1966), ("Lathe", 1971)] {
            let book = Book(context: context)
            (book.title, book.year, book.author) = (title, Int32(year), ursula)
        }
        try context.save()
    }

    private func books(_ format: String? = nil) throws -> FetchRequest<Book> {
        FetchRequest<Book>(try format.map { try FetchPredicate(format: $0) }, sortedBy: [SortKey("title")])
    }

    @Test func `what a context saves is in the data, with both sides of relationships (PS-13, PS-16)`() throws {
        let other = ManagedObjectContext(coordinator)
        let author = try #require(try other.fetch(FetchRequest<Author>()).first)
        #expect(author.books.count == 3 && author.name == "Ursula")
        let lathe = try #require(try other.fetch(books("title == 'Lathe'")).first)
        lathe.title = "The Lathe of Heaven"
        try other.delete(try #require(try other.fetch(books("title == 'Planet'")).first))
        try other.save()

        let rows = source.content.withLock { Array($0.rows.values) }
        #expect(rows.count == 3)
        #expect(rows.filter { $0.version == 2 }.map { $0.value(at: 0) } == [.string("The Lathe of Heaven")])
        guard case .uuid? = lathe.objectID.reference else {
            Issue.record("\(lathe.objectID)")
            return
        }
        let list = source.content.withLock { $0.lists[ShelfSource.List(owner: author.objectID, name: "books")] }
        #expect(Set(list ?? []) == Set(rows.map(\.id).filter { $0.entityName == "Book" }))
        try other.delete(author)
        try other.save()
        #expect(source.content.withLock { $0.rows.values.allSatisfy { $0.destination(at: 0) == nil } })
    }

    // Case 6: there, a row without a to-one destination costs one more question.
    @Test func `a fault asks the data for its row once, and for a list at its first use (PS-13)`() throws {
        let author = try #require(try context.fetch(FetchRequest<Author>()).first)
        let lonely = Book(context: context)
        lonely.title = "Anonymous"
        try context.save()
        let other = ManagedObjectContext(coordinator)
        let (book, owner) = (try other.object(with: lonely.ref), try other.object(with: author.ref))
        source.content.withLock { $0.calls = [] }
        func calls() -> [String] { source.content.withLock { $0.calls } }

        #expect(book.author == nil && book.title == "Anonymous")
        #expect(calls() == ["rows 1"])
        #expect(owner.name == "Ursula" && book.author == nil)
        #expect(calls() == ["rows 1", "rows 1"])
        for _ in 0..<2 {
            #expect(try owner.objectIDs(forRelationshipNamed: "books").count == 3)
            #expect(calls() == ["rows 1", "rows 1", "list books"])
        }
    }

    @Test func `the data filter what they can, and the store does the rest (SD-32)`() throws {
        let fresh = ManagedObjectContext(coordinator)
        #expect(try fresh.fetch(books("year == 1966")).map(\.title) == ["Planet", "Rocannon"])
        #expect(try fresh.fetch(books("year < 1970 AND author.name == 'Ursula'")).count == 2)
        #expect(try fresh.count(for: books("author.name BEGINSWITH 'X'")) == 0)
        // Unsaved changes join, by a condition that the context has made of IDs.
        let rocannon = try #require(try fresh.fetch(books("title == 'Rocannon'")).first)
        rocannon.year = 2000
        #expect(try fresh.fetch(books("year == 1966")).map(\.title) == ["Planet"])
        #expect(try fresh.fetch(books("year == 2000")).map(\.title) == ["Rocannon"])
    }

    @Test func `a save on an older version is a conflict, whether the store or the data notice (PS-14)`() throws {
        let (first, second) = (ManagedObjectContext(coordinator), ManagedObjectContext(coordinator))
        let (mine, theirs) = try (first.fetch(books())[0], second.fetch(books())[0])
        mine.title = "A"
        theirs.title = "B"
        try first.save()
        #expect(throws: ContextError.self) { try second.save() }
        #expect(theirs.title == "B")

        source.content.withLock { $0.isOvertaken = true }
        mine.title = "C"
        let error = #expect(throws: ContextError.self) { try first.save() }
        #expect(error?.code == 133020)
        try first.save()
        #expect(source.content.withLock { $0.rows[mine.objectID]?.value(at: 0) } == .string("C"))
    }

    @Test func `a change that others make to the data arrives when the store is told`() throws {
        context.automaticallyMergesChangesFromParent = true
        let book = try context.fetch(books())[0]
        #expect(book.title == "Lathe")
        source.content.withLock { content in
            content.rows[book.objectID] = ObjectSnapshot(
                id: book.objectID, version: 9, values: [.string("Drehbank"), .integer(1971)], destinations: [nil])
        }
        #expect(try context.fetch(books("title == 'Drehbank'")).isEmpty)

        store.contentsDidChange()
        context.refreshAllObjects()

        #expect(try context.fetch(books("title == 'Drehbank'")) == [book] && book.title == "Drehbank")
    }

    @Test(arguments: ShelfSource.Lie.allCases)
    func `data that break the contract get a typed error, and nothing changes`(lie: ShelfSource.Lie) throws {
        let fresh = ManagedObjectContext(coordinator)
        let book = try fresh.fetch(books("title == 'Lathe'"))[0]
        let author = try #require(try fresh.fetch(FetchRequest<Author>()).first)
        book.title = "Lathe 2"
        try fresh.save()
        let before = source.content.withLock { content in
            content.lie = lie
            return content.rows.mapValues(\.version)
        }
        let reader = ManagedObjectContext(coordinator)
        var error: ContextError?
        switch lie {
        case .destinationTwice, .destinationOfOtherEntity:
            error = contextError { _ = try store.destinations(of: books(of: author), for: [author.objectID]) }
        case .usedReference, .tooFewReferences:
            _ = Book(context: reader)
            error = contextError { try reader.save() }
            #expect(reader.insertedObjects.count == 1)
        case .overLimit:
            var request = try books()
            request.fetchLimit = 1
            error = contextError { _ = try reader.fetch(request) }
        case .unfiltered: error = contextError { _ = try reader.fetch(books("title == 'Planet'")) }
        default: error = contextError { _ = try reader.fetch(books()) }
        }

        switch (error, lie) {
        case (.store(.outside(_, ShelfError.collapsed))?, .ownError): break
        case (.store(.brokenContract(_, "Shelf", let reason))?, _): #expect(!reason.isEmpty && lie != .ownError)
        default: Issue.record("\(lie): \(String(describing: error))")
        }
        #expect(source.content.withLock { $0.rows.mapValues(\.version) } == before)
        source.content.withLock { $0.lie = nil }
        #expect(try ManagedObjectContext(coordinator).fetch(books()).count == 3)
    }

    @Test(arguments: RawStore.Lie.allCases)
    func `a store on the contract itself that breaks it gets a typed error, and the process goes on`(
        lie: RawStore.Lie
    ) throws {
        let model = coordinator.managedObjectModel
        let raw = RawStore(model: model)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(raw)
        let writer = ManagedObjectContext(coordinator)
        let author = Author(context: writer)
        author.name = "Ursula"
        for (title, year) in [("Rocannon", 1966), ("Planet", 1966), ("Lathe", 1971)] {
            let book = Book(context: writer)
            (book.title, book.year, book.author) = (title, Int32(year), author)
        }
        try writer.save()
        let reader = ManagedObjectContext(coordinator)
        #expect(try reader.fetch(books()).map(\.title) == ["Lathe", "Planet", "Rocannon"])
        let book = try reader.fetch(books())[0].objectID

        raw.lie.withLock { $0 = lie }
        let fresh = ManagedObjectContext(coordinator)
        var limited = try books()
        limited.fetchLimit = 1
        let error = contextError {
            switch lie {
            case .overLimit: _ = try fresh.fetch(limited)
            case .unfiltered: _ = try fresh.fetch(books("title == 'Planet'"))
            case .idTwice: _ = try fresh.fetchIDs(books())
            case .negativeCount: _ = try fresh.count(for: books())
            case .countOverLimit: _ = try fresh.count(for: limited)
            case .otherRow, .tooFewRows: _ = try fresh.existingObject(with: book)
            case .destinationTwice, .destinationOfOtherEntity, .tooFewLists, .listWithoutOrder:
                let authors = FetchRequest<Author>()
                let column = try FetchColumn("count", format: "books.@count")
                _ = try fresh.fetch(ValueRequest(authors.terms, columns: [column]))
            case .tooFewIDs, .reservedTwice:
                try fresh.obtainPermanentIDs(for: [Book(context: fresh), Book(context: fresh)])
            case .reservedUsed:
                let read = try fresh.fetch(books())
                try fresh.obtainPermanentIDs(for: [Book(context: fresh)])
                #expect(read.isEmpty, "an ID of one of \(read.count) rows was accepted")
            case .endlessBatch, .otherBatch:
                var count = 0
                try fresh.enumerate(books()) { _ in
                    count += 1
                    guard count < 100 else { throw ShelfError.collapsed }
                }
            case .tooFewSaved:
                _ = Book(context: fresh)
                try fresh.save()
            default: _ = try fresh.fetch(books())
            }
        }

        guard case .store(.brokenContract(_, "Raw", let reason))? = error else {
            Issue.record("\(lie): \(String(describing: error))")
            return
        }
        #expect(!reason.isEmpty)
        raw.lie.withLock { $0 = nil }
        #expect(try ManagedObjectContext(coordinator).count(for: books("year > 0")) == 3)
    }

    /// The use of an object that the application has made by the ID of a row that does not exist yet.
    enum EarlyUse: CaseIterable {
        case none, read, relatedForAMoment
    }

    @Test(arguments: EarlyUse.allCases)
    func `a natural key goes to a new row although an object without a row has it in the context`(
        use: EarlyUse
    ) throws {
        let entity = try #require(coordinator.managedObjectModel.entity(named: "Author"))
        let id = ObjectID(.text("stanislaw"), of: entity, inStore: source.identifier)
        let early = try #require(try context.object(with: id) as? Author)
        switch use {
        case .none: break
        case .read: #expect(contextError { _ = try context.existingObject(with: id) } != nil)
        case .relatedForAMoment:
            let book = try #require(try context.fetch(books()).first)
            let former = book.author
            book.author = early
            book.author = former
            #expect(early.hasChanges)
        }
        source.content.withLock { $0.references = [.text("stanislaw")] }
        let author = Author(context: context)
        author.name = "Stanisław"

        try context.save()

        #expect(author.objectID == id && context.registeredObject(for: id) === author && author.name == "Stanisław")
        #expect(early.managedObjectContext == nil && !context.hasChanges)
        #expect(source.content.withLock { $0.rows[id]?.value(at: 0) } == .string("Stanisław"))
    }

    @Test func `the reference of a row that a save deletes is no new one, and the save changes nothing`() throws {
        let book = try #require(try context.fetch(books("title == 'Lathe'")).first)
        let new = Book(context: context)
        new.title = "New"
        try context.delete(book)
        let reference = try #require(book.objectID.reference)
        source.content.withLock { $0.references = [reference] }

        let error = contextError { try context.save() }

        guard case .store(.brokenContract(_, "Shelf", _))? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.deletedObjects == [book] && context.insertedObjects == [new])
        try context.save()
        let titles = source.content.withLock { $0.rows.values.map { $0.value(at: 0) } }
        #expect(titles.count == 4 && titles.contains(.string("New")) && !titles.contains(.string("Lathe")))
    }

    @Test func `a store learns when it is added and removed, and closes its data once (PS-11)`() throws {
        let noted = HookedStore(base: InMemoryStore(model: coordinator.managedObjectModel))
        let type = StoreType(rawValue: "Hooked")
        type.register { _ in noted }
        var description = PersistentStoreDescription(type: type, entityNames: ["Author", "Book"])
        description.setOption(.integer(3), forKey: "depth")
        let other = PersistentStoreCoordinator(managedObjectModel: coordinator.managedObjectModel)

        let store = try other.addPersistentStore(description)
        #expect(other.description(of: store)?.options == ["depth": .integer(3)])
        #expect(noted.calls.withLock { $0 } == ["added without a configuration"])
        try other.remove(store)
        #expect(noted.calls.withLock { $0 } == ["added without a configuration", "will be removed", "closed"])
        #expect(other.description(of: store) == nil)

        try coordinator.remove(self.store)
        #expect(source.content.withLock { $0.calls.last } == "close")
        #expect(throws: StoreError.self) { try self.store.snapshot() }
    }

    private func books(of author: Author) throws -> Relationship {
        try #require(coordinator.managedObjectModel.entity(named: "Author")?.relationship(named: "books"))
    }

    private func contextError(_ body: () throws -> Void) -> ContextError? {
        do { try body() } catch let error as ContextError { return error } catch let error as StoreError {
            return .store(error)
        } catch { return nil }
        return nil
    }
}

/// A store of an application on the contract itself, which notes what its coordinator tells it.
private final class HookedStore: PersistentStore {
    private let base: InMemoryStore
    let calls = Mutex<[String]>([])

    init(base: InMemoryStore) { self.base = base }

    var identifier: UUID { base.identifier }
    var type: StoreType { StoreType(rawValue: "Hooked") }
    var path: String? { nil }
    var isReadOnly: Bool { false }
    var model: ManagedObjectModel { base.model }

    func snapshot() throws(StoreError) -> any StoreSnapshot { try base.snapshot() }
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        try base.reserveIDs(for: entity, count: count)
    }
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult { try base.save(request) }
    func metadata() throws(StoreError) -> [String: AttributeValue] { try base.metadata() }
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) { try base.setMetadata(metadata) }
    func close() throws(StoreError) {
        calls.withLock { $0.append("closed") }
        try base.close()
    }
    func didAdd(configurationName: String?) {
        calls.withLock { $0.append("added " + (configurationName.map { "as \($0)" } ?? "without a configuration")) }
    }
    func willRemove() { calls.withLock { $0.append("will be removed") } }
}
