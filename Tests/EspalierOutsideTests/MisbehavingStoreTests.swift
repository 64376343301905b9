// Stores of applications that answer saves, commands and copies with what no store may answer: each answer is a typed
// error or harmless, and the process goes on.

import Espalier
import Foundation
import Synchronization
import Testing

@Suite struct MisbehavingStoreTests {
    // MARK: Refusals

    @Test(arguments: OutsideKind.allCases)
    func `a refusal that names what no row can be breaks the contract, and nothing changes`(kind: OutsideKind) throws {
        let library = try BookStore(kind)
        let (book, author) = (library.books[0], library.author.objectID)
        let id = book.objectID
        let stranger = ObjectID(.number(1), of: try library.entity("Book"), inStore: UUID())
        let unheard = try ManagedObjectModel(entities: [EntityDescription("Unheard")])
        let other = ObjectID(.number(1), of: unheard.entities[0], inStore: library.store.identifier)
        func conflict(_ id: ObjectID, _ stored: ObjectSnapshot? = nil) -> StoreError {
            .conflict([VersionConflict(id: id, expectedVersion: 1, stored: stored)])
        }
        func row(
            _ id: ObjectID, _ version: UInt64 = 2, _ values: [AttributeValue] = [.null, .null],
            _ destinations: [ObjectID?] = [nil]
        ) -> ObjectSnapshot {
            ObjectSnapshot(id: id, version: version, values: values, destinations: destinations)
        }
        func missing(_ relationship: String, _ destinations: [ObjectID]) -> StoreError {
            .references([
                ReferenceConflict(.missing, owner: id, relationship: relationship, destinations: destinations)
            ])
        }
        let shared = ConstraintConflict(
            entityName: "Book", properties: ["title"], values: [.null], object: id, other: id)
        let refusals: [(String, StoreError)] = [
            ("no conflict", .conflict([])), ("no value", .constraint([])), ("no reference", .references([])),
            ("a row of another store", conflict(stranger)), ("a row of another entity", conflict(other)),
            ("another row", conflict(id, row(author, 2, [.null]))), ("too few values", conflict(id, row(id, 2, []))),
            ("too few destinations", conflict(id, row(id, 2, [.null, .null], []))),
            ("a value of another type", conflict(id, row(id, 2, [.integer(1), .null]))),
            ("version 0", conflict(id, row(id, 0))), ("a version too great", conflict(id, row(id, .max))),
            ("a destination of another entity", conflict(id, row(id, 2, [.null, .null], [id]))),
            ("no such constraint", .constraint([shared])), ("no such relationship", missing("title", [])),
            ("a destination of another store", missing("author", [stranger])),
        ]
        for (what, refusal) in refusals {
            book.title = what
            library.refuse(with: refusal)

            let error = library.error { try library.context.save() }

            guard case .brokenContract(_, _, let reason)? = error else {
                Issue.record("\(what): \(String(describing: error))")
                continue
            }
            #expect(!reason.isEmpty && book.title == what && book.hasChanges, "\(what)")
            #expect(try library.titles() == ["Lathe", "Planet", "Rocannon"], "\(what)")
        }
        try library.context.save()
        let title = book.title
        #expect(try library.titles() == ["Planet", "Rocannon", title])
    }

    // MARK: Answers to saves

    /// Changes of the answer to a save of two changed books and two new ones.
    private static func answers(
        old: ObjectID, author: ObjectID, stranger: ObjectID
    ) -> [(what: String, answer: @Sendable (SaveResult) -> SaveResult)] {
        @Sendable func copy(_ row: ObjectSnapshot, _ id: ObjectID, version: UInt64? = nil) -> ObjectSnapshot {
            ObjectSnapshot(
                id: id, version: version ?? row.version, values: [row.value(at: 0), row.value(at: 1)],
                destinations: [row.destination(at: 0)])
        }
        @Sendable func inserted(_ result: SaveResult, _ row: ObjectSnapshot) -> SaveResult {
            var changed = result
            changed.inserted = SnapshotList([row, result.inserted[1]])
            return changed
        }
        @Sendable func updated(_ result: SaveResult, _ rows: [ObjectSnapshot]) -> SaveResult {
            var changed = result
            changed.updated = SnapshotList(rows)
            return changed
        }
        return [
            ("two new rows with one ID", { inserted($0, copy($0.inserted[0], $0.inserted[1].id)) }),
            ("a new row with the ID of a changed one", { inserted($0, copy($0.inserted[0], $0.updated[0].id)) }),
            ("a new row with the ID of one that was read", { inserted($0, copy($0.inserted[0], old)) }),
            (
                "a new row with the ID of a deleted one",
                { result in
                    var changed = result
                    changed.deleted.insert(result.inserted[0].id)
                    return changed
                }
            ),
            ("a version too great", { inserted($0, copy($0.inserted[0], $0.inserted[0].id, version: .max)) }),
            ("changed rows in another order", { updated($0, $0.updated.reversed()) }),
            ("a row that was not to be changed", { updated($0, [copy($0.updated[0], old), $0.updated[1]]) }),
            ("a row that was changed twice", { updated($0, [$0.updated[0], $0.updated[0]]) }),
            (
                "a row merged into one of another entity",
                { result in
                    let row = ObjectSnapshot(id: author, version: 1, values: [.null], destinations: [nil])
                    var changed = inserted(result, row)
                    changed.merged = [0]
                    return changed
                }
            ),
            (
                "a deleted row of another store",
                { result in
                    var changed = result
                    changed.deleted.insert(stranger)
                    return changed
                }
            ),
            (
                "a changed row of another store",
                { result in
                    var changed = result
                    changed.changed.insert(stranger)
                    return changed
                }
            ),
        ]
    }

    @Test(arguments: 0..<11)
    func `an answer to a save that is none breaks the contract, and the context stays as it was`(number: Int) throws {
        let library = try BookStore(.raw)
        let stranger = ObjectID(.number(1), of: try library.entity("Book"), inStore: UUID())
        let answers = Self.answers(
            old: library.books[2].objectID, author: library.author.objectID, stranger: stranger)
        try #require(answers.count == 11)
        let (what, answer) = answers[number]
        library.raw?.answer.withLock { $0 = answer }
        (library.books[0].title, library.books[1].title) = ("A", "B")
        let new = (0..<2).map { _ in Book(context: library.context) }

        let error = library.error { try library.context.save() }

        guard case .brokenContract(_, "Raw", let reason)? = error else {
            Issue.record("\(what): \(String(describing: error))")
            return
        }
        #expect(!reason.isEmpty && new.allSatisfy { $0.isInserted && $0.objectID.isTemporary }, "\(what)")
        #expect(library.books[0].title == "A" && library.books[0].hasChanges, "\(what)")
        library.raw?.answer.withLock { $0 = nil }
        #expect(try library.titles().count == 5, "\(what)")
    }

    @Test func `a store may number its generations as it likes`() throws {
        let library = try BookStore(.raw)
        for number in [UInt64.max, 0, .max, 1] {
            library.raw?.generation.withLock { $0 = number }
            // The context reads in this generation before it saves.
            library.context.refreshAllObjects()
            #expect(try library.context.fetch(FetchRequest<Book>()).count == library.books.count)
            library.books[0].title = "at \(number)"
            try library.context.save()
            #expect(try library.titles().contains("at \(number)"))
        }
    }

    // MARK: Commands and copies

    private static let badRows: [RawStore.Lie] = [
        .rowTwice, .unknownEntity, .otherEntity, .otherStore, .wrongType, .tooFewValues, .versionZero,
        .versionTooGreat, .destinationOfRow,
    ]

    @Test(arguments: badRows)
    func `a batch request on rows that are none changes nothing`(lie: RawStore.Lie) throws {
        let library = try BookStore(.raw)
        library.raw?.lie.withLock { $0 = lie }
        let update = BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["year": 7])
        let computing = BatchUpdateRequest(
            entityName: "Book", propertiesToUpdate: ["year": try FetchExpression(format: "year + 1")])

        for (number, error) in [
            library.error { _ = try library.coordinator.execute(update) },
            library.error { _ = try library.coordinator.execute(computing) },
            library.error { _ = try library.coordinator.execute(BatchDeleteRequest(FetchRequest<Book>())) },
        ].enumerated() {
            guard case .brokenContract(_, "Raw", _)? = error else {
                Issue.record("\(lie), request \(number): \(String(describing: error))")
                continue
            }
        }

        library.raw?.lie.withLock { $0 = nil }
        let request = FetchRequest<Book>(try FetchPredicate(format: "year == 7"))
        #expect(try ManagedObjectContext(library.coordinator).count(for: request) == 0)
        #expect(try library.titles() == ["Lathe", "Planet", "Rocannon"])
    }

    @Test func `new rows of a batch request, or of a copy, that the store does not return break the contract`() throws {
        let library = try BookStore(.raw)
        var request = BatchInsertRequest(entityName: "Book", objects: [["title": "New"], ["title": "Newer"]])
        request.returnsObjectIDs = true
        let target = RawStore(model: library.coordinator.managedObjectModel)
        library.raw?.lie.withLock { $0 = .tooFewSaved }
        target.lie.withLock { $0 = .tooFewSaved }

        for (number, error) in [
            library.error { _ = try library.coordinator.execute(request) },
            library.error { _ = try library.store.copy(to: target) },
        ].enumerated() {
            guard case .brokenContract(_, "Raw", _)? = error else {
                Issue.record("\(number): \(String(describing: error))")
                continue
            }
        }
    }

    @Test(arguments: badRows)
    func `a store whose rows are none is not moved, and stays open`(lie: RawStore.Lie) throws {
        let library = try BookStore(.raw)
        let coordinator = library.coordinator
        library.raw?.lie.withLock { $0 = lie }

        let error = library.error { _ = try coordinator.migratePersistentStore(library.store, to: .inMemory) }

        guard case .brokenContract(_, "Raw", _)? = error else {
            Issue.record("\(lie): \(String(describing: error))")
            return
        }
        #expect(coordinator.persistentStores.count == 1 && coordinator.persistentStores[0] === library.store)
        library.raw?.lie.withLock { $0 = nil }
        #expect(try library.titles() == ["Lathe", "Planet", "Rocannon"])
        let moved = try coordinator.migratePersistentStore(library.store, to: .inMemory)
        #expect(coordinator.persistentStores.count == 1 && coordinator.persistentStores[0] === moved.store)
        #expect(try library.titles() == ["Lathe", "Planet", "Rocannon"])
    }

    @Test(arguments: badRows + [.listWithoutOrder, .destinationTwice, .destinationOfOtherEntity, .tooFewLists])
    func `a copy of rows that are none is refused, and the target stays empty`(lie: RawStore.Lie) throws {
        let library = try BookStore(.raw)
        library.raw?.lie.withLock { $0 = lie }
        let target = InMemoryStore(model: library.coordinator.managedObjectModel)

        let error = library.error { _ = try library.store.copy(to: target) }

        guard case .brokenContract(_, "Raw", _)? = error else {
            Issue.record("\(lie): \(String(describing: error))")
            return
        }
        #expect(try target.count(StoreFetch(entity: library.entity("Book"))) == 0)
        library.raw?.lie.withLock { $0 = nil }
        #expect(try library.store.copy(to: target).changedKeyCount == 0)
        #expect(try target.count(StoreFetch(entity: library.entity("Book"))) == 3)
    }

    @Test func `an answer to a command that is none breaks the contract, and a number too great is harmless`() throws {
        let model = try ManagedObjectModel(for: libraryClasses)
        let entity = try #require(model.entity(named: "Book"))
        let stranger = ObjectID(.number(1), of: entity, inStore: UUID())
        let answers: [@Sendable (inout CommandResult) -> Void] = [
            { $0.count = -1 }, { $0.ids.removeLast() }, { $0.ids[0] = stranger }, { $0.inserted.insert(stranger) },
            { $0.updated.insert(stranger) }, { $0.deleted.insert(stranger) },
        ]
        for (number, answer) in answers.enumerated() {
            let store = CommandStore(model, answer)
            let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            coordinator.add(store)
            let context = ManagedObjectContext(coordinator)
            for title in ["A", "B"] { Book(context: context).title = title }
            try context.save()
            var update = BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["year": 7])
            update.returnsObjectIDs = true
            let error = BookStore.error { _ = try coordinator.execute(update) }
            if case .brokenContract(_, "Commands", _)? = error {
            } else {
                Issue.record("answer \(number): \(String(describing: error))")
            }
        }
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        for _ in 0..<2 { coordinator.add(CommandStore(model) { $0.count = .max }) }
        let update = BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["year": 7])
        #expect(try coordinator.execute(update).count == .max)
    }

    // MARK: Rows

    @Test func `a reference that a row had is refused for a new one, whoever has deleted the row (PS-13)`() throws {
        let library = try BookStore(.shelf)
        let shelf = try #require(library.shelf)
        let ids = library.books.map(\.objectID)
        try library.context.delete(library.books[2])
        try library.context.save()
        shelf.content.withLock { $0.rows[ids[1]] = nil }
        (library.store as? IncrementalStore)?.contentsDidChange()
        let new = Book(context: library.context)
        new.title = "New"
        let used = try ids[1...].map { try #require($0.reference) }
        for references in used.map({ [$0] }) + [[.text("one"), .text("two")]] {
            shelf.content.withLock { $0.references = references }

            let error = library.error { try library.context.save() }

            if case .brokenContract(_, "Shelf", _)? = error {
            } else {
                Issue.record("\(references): \(String(describing: error))")
            }
            #expect(new.isInserted && shelf.content.withLock { $0.rows.count } == 2)
        }
        try library.context.save()
        #expect(try library.titles() == ["Lathe", "New"])
    }

    @Test(arguments: [UInt64(Int64.max), 1 << 63, .max])
    func `a row at the greatest version is read and not changed, and one beyond it is refused (PS-14)`(
        version: UInt64
    ) throws {
        let library = try BookStore(.shelf)
        let shelf = try #require(library.shelf)
        let (id, author) = (library.books[0].objectID, library.author.objectID)
        shelf.content.withLock { content in
            content.rows[id] = ObjectSnapshot(
                id: id, version: version, values: [.string("Last"), .null], destinations: [author])
        }
        (library.store as? IncrementalStore)?.contentsDidChange()
        let reader = ManagedObjectContext(library.coordinator)
        guard version <= UInt64(Int64.max) else {
            let error = library.error { _ = try reader.existingObject(with: id) }
            if case .brokenContract(_, "Shelf", _)? = error {} else { Issue.record("\(String(describing: error))") }
            return
        }
        let book = try #require(try reader.existingObject(with: id) as? Book)
        let changes: [() throws -> Void] = [
            { book.title = "Changed" }, { try reader.delete(try #require(book.author)) },
        ]
        for change in changes {
            try change()
            let error = library.error { try reader.save() }
            if case .damagedContent(_, "Book", _, _)? = error {} else { Issue.record("\(String(describing: error))") }
            reader.rollback()
        }
        #expect(book.title == "Last" && shelf.content.withLock { $0.rows[id]?.version } == version)
        try reader.delete(book)
        try reader.save()
        #expect(try library.titles() == ["Planet", "Rocannon"])
    }

    @Test func `a relationship to rows that do not exist is read without harm`() throws {
        let library = try BookStore(.shelf)
        let shelf = try #require(library.shelf)
        let (books, author) = (library.books.map(\.objectID), library.author.objectID)
        func missing(_ entity: String) throws -> ObjectID {
            ObjectID(.uuid(UUID()), of: try library.entity(entity), inStore: shelf.identifier)
        }
        let (book, other) = (try missing("Book"), try missing("Author"))
        shelf.content.withLock { content in
            content.lists[ShelfSource.List(owner: author, name: "books")] = books + [book]
            content.rows[books[0]] = ObjectSnapshot(
                id: books[0], version: 2, values: [.string("Lathe"), .null], destinations: [other])
        }
        (library.store as? IncrementalStore)?.contentsDidChange()
        let reader = ManagedObjectContext(library.coordinator)
        let owner = try #require(try reader.existingObject(with: author) as? Author)

        #expect(owner.books.count == 4)
        #expect(Set(owner.books.map(\.title)).isSuperset(of: ["Lathe", "Planet", "Rocannon"]))
        let lathe = try #require(try reader.existingObject(with: books[0]) as? Book)
        #expect(lathe.author?.name == nil && lathe.author?.isDeleted == true)
        let authors = FetchRequest<Author>(try FetchPredicate(format: "ANY books.title == 'Lathe'"))
        #expect(try reader.count(for: authors) == 1)
        let orphans = FetchRequest<Book>(try FetchPredicate(format: "author.name == nil"))
        #expect(try reader.fetch(orphans) == [lathe])
        lathe.title = "The Lathe of Heaven"
        try reader.save()
        #expect(try library.titles() == ["Planet", "Rocannon", "The Lathe of Heaven"])
    }
}

/// The two ways to write a store.
enum OutsideKind: CaseIterable {
    case shelf, raw
}

/// A store with an author and three books.
private struct BookStore {
    let shelf: ShelfSource?
    let raw: RawStore?
    let store: any PersistentStore
    let coordinator: PersistentStoreCoordinator
    let context: ManagedObjectContext
    let author: Author
    /// By title.
    let books: [Book]

    init(_ kind: OutsideKind) throws {
        let model = try ManagedObjectModel(for: libraryClasses)
        switch kind {
        case .shelf:
            let source = ShelfSource(model: model)
            (shelf, raw) = (source, nil)
            store = IncrementalStore(source, type: StoreType(rawValue: "Shelf"), model: model)
        case .raw:
            let own = RawStore(model: model)
            (shelf, raw, store) = (nil, own, own)
        }
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        let context = ManagedObjectContext(coordinator)
        let author = Author(context: context)
        author.name = "Ursula"
        books = ["Lathe", "Planet", "Rocannon"].map { title in
            let book = Book(context: context)
            (book.title, book.author) = (title, author)
            return book
        }
        (self.context, self.author) = (context, author)
        try context.save()
    }

    func entity(_ name: String) throws -> Entity {
        try #require(coordinator.managedObjectModel.entity(named: name))
    }

    /// The titles of the stored books, in order.
    func titles() throws -> [String?] {
        let reader = ManagedObjectContext(coordinator)
        return try withExtendedLifetime(reader) {
            try reader.fetch(FetchRequest<Book>(sortedBy: [SortKey("title")])).map(\.title)
        }
    }

    /// Makes the store refuse the next save.
    func refuse(with error: StoreError) {
        shelf?.content.withLock { $0.refusal = error }
        raw?.refusal.withLock { $0 = error }
    }

    /// The error of the store that `body` throws.
    func error(_ body: () throws -> Void) -> StoreError? { Self.error(body) }

    static func error(_ body: () throws -> Void) -> StoreError? {
        do { try body() } catch ContextError.store(let error) { return error } catch let error as StoreError {
            return error
        } catch {
            Issue.record("\(error)")
        }
        return nil
    }
}

/// A store that carries commands out itself, and says something else of them.
private final class CommandStore: PersistentStore {
    private let base: InMemoryStore
    private let answer: @Sendable (inout CommandResult) -> Void

    init(_ model: ManagedObjectModel, _ answer: @escaping @Sendable (inout CommandResult) -> Void) {
        base = InMemoryStore(model: model)
        self.answer = answer
    }

    var identifier: UUID { base.identifier }
    var type: StoreType { StoreType(rawValue: "Commands") }
    var path: String? { nil }
    var isReadOnly: Bool { false }
    var model: ManagedObjectModel { base.model }

    func snapshot() throws(StoreError) -> any StoreSnapshot { try base.snapshot() }
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        try base.reserveIDs(for: entity, count: count)
    }
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult { try base.save(request) }
    func execute(_ command: StoreCommand) throws(StoreError) -> CommandResult {
        var result = try base.execute(command)
        answer(&result)
        return result
    }
    func metadata() throws(StoreError) -> [String: AttributeValue] { try base.metadata() }
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) { try base.setMetadata(metadata) }
    func close() throws(StoreError) { try base.close() }
}
