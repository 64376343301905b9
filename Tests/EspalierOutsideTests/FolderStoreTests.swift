// A folder of files is a store: found by its kind, read when it is used, and refused where it is none.

import Espalier
import Foundation
import Testing

extension StoreType {
    /// Folders of JSON files.
    static let folder: StoreType = {
        let type = StoreType(rawValue: "Folder")
        type.register { opening in
            try opening.requireOptions(among: ["encoding"])
            guard let path = opening.path else { throw FolderError("a folder needs a path") }
            return IncrementalStore(
                try FolderSource(URL(filePath: path), model: opening.model), type: type, model: opening.model)
        }
        return type
    }()
}

@Suite struct FolderStoreTests {
    let folder: LibraryFolder
    let coordinator: PersistentStoreCoordinator
    let source: FolderSource
    let context: ManagedObjectContext

    init() throws {
        folder = try LibraryFolder()
        coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: libraryClasses))
        let store = try coordinator.addPersistentStore(
            PersistentStoreDescription(type: .folder, path: folder.url.path))
        source = try #require((store as? IncrementalStore)?.source as? FolderSource)
        context = ManagedObjectContext(coordinator)
    }

    @Test func `files are objects, with values and relationships (PS-10, PS-13)`() throws {
        let authors = try context.fetch(
            FetchRequest<Author>(
                FetchPredicate(format: "ANY books.year < 1970"), sortedBy: [SortKey("name")]))

        #expect(authors.map(\.name) == ["Stanisław Lem", "Ursula K. Le Guin"])
        #expect(Set(authors[0].books.map(\.title)) == ["Solaris", "Pokój nr 100"])
        #expect(authors[0].books.allSatisfy { $0.author === authors[0] })
        #expect(StoreType.registered.contains(.folder))
        let byYear = FetchRequest<Book>(sortedBy: [SortKey("year"), SortKey("title", ascending: false)])
        #expect(
            try context.fetch(byYear).map(\.title) == [
                "Solaris", "Pokój nr 100", "The Left Hand of Darkness", "The Dispossessed",
            ])
        var second = byYear
        (second.fetchOffset, second.fetchLimit) = (1, 2)
        #expect(try context.fetch(second).map(\.year) == [1961, 1969])
        #expect(try context.count(for: FetchRequest<Author>(FetchPredicate(format: "name == nil"))) == 1)
    }

    @Test func `only files of objects that are used are read (SD-32)`() throws {
        #expect(try context.count(for: FetchRequest<Book>()) == 4)
        #expect(try context.fetchIDs(FetchRequest<Author>()).count == 3)
        #expect(source.fileCount == 0)

        let book = try #require(try context.existingObject(with: id("Book", .text("solaris"))) as? Book)
        #expect(book.title == "Solaris" && source.fileCount == 1)
        #expect(book.author?.name == "Stanisław Lem" && source.fileCount == 2)
        var first = FetchRequest<Author>()
        first.fetchLimit = 1
        #expect(try context.fetch(first).count == 1 && source.fileCount == 3)
    }

    @Test func `a URI with the reference leads to its row, also before anything was read (PS-15)`() throws {
        let uri = "x-espalier://\(folder.identifier.uuidString)/Book/spok%C3%B3j%20100%25"
        let found = try coordinator.managedObjectID(forURIRepresentation: uri)

        #expect(found.uriRepresentation == uri && found.reference == .text("pokój 100%"))
        #expect((try context.existingObject(with: found) as? Book)?.title == "Pokój nr 100")
        #expect(try JSONDecoder().decode([ObjectID].self, from: JSONEncoder().encode([found])) == [found])
        for other in ["Book/sa/b", "Book/s%2", "Book/s%zz", "Book/spok%c3%b3j", "Book/s%FF", "Book/uno", "Nobody/sx"] {
            #expect(throws: ContextError.self, "\(other)") {
                try coordinator.managedObjectID(
                    forURIRepresentation: "x-espalier://\(folder.identifier.uuidString)/\(other)")
            }
        }
        let missing = try coordinator.managedObjectID(
            forURIRepresentation: "x-espalier://\(folder.identifier.uuidString)/Book/sunwritten")
        #expect(throws: ContextError.self) { try context.existingObject(with: missing) }
    }

    @Test func `saving to a folder is refused, and the changes stay (PS-23)`() throws {
        let book = try #require(try context.existingObject(with: id("Book", .text("solaris"))) as? Book)
        book.title = "Солярис"

        let error = #expect(throws: ContextError.self) { try context.save() }

        #expect(error?.code == 513 && book.title == "Солярис" && context.hasChanges)
        context.rollback()
        #expect(book.title == "Solaris")
    }

    @Test func `a file that is no object is an error of the application's store, and nothing else fails`() throws {
        try folder.write("[1, 2", to: "Book/broken.json")
        try folder.write(#"{"title": true}"#, to: "Book/wrong.json")

        for name in ["broken", "wrong"] {
            let error = #expect(throws: ContextError.self) {
                try context.existingObject(with: id("Book", .text(name)))
            }
            switch error {
            case .store(.outside(let path, _))?, .store(.brokenContract(let path, _, _))?:
                #expect(path == folder.url.path)
            default: Issue.record("\(name): \(String(describing: error))")
            }
        }
        #expect((try context.existingObject(with: id("Author", .text("nobody"))) as? Author)?.name == .some(nil))
    }

    @Test func `a kind that nobody has registered is refused with the kinds that there are`() throws {
        let error = #expect(throws: ContextError.self) {
            try coordinator.addPersistentStore(PersistentStoreDescription(type: StoreType(rawValue: "Cloud")))
        }
        #expect(error?.code == 134000)
        #expect(error?.description.contains("Cloud") == true && error?.description.contains("BTree") == true)
        #expect(coordinator.persistentStores.count == 1)
    }

    @Test func `an option that a kind does not have is refused by its name (PS-18, PS-27)`() throws {
        var description = PersistentStoreDescription(type: .folder, path: folder.url.path)
        description.setOption(.string("UTF-8"), forKey: "encoding")
        description.setOption(.integer(1), forKey: .timeout)
        let error = #expect(throws: ContextError.self) { try coordinator.addPersistentStore(description) }
        #expect(error?.description.contains("\"timeout\"") == true && error?.description.contains("encoding") == true)

        description.setOption(nil, forKey: .timeout)
        let store = try PersistentStoreCoordinator(managedObjectModel: coordinator.managedObjectModel)
            .addPersistentStore(description)
        #expect(store.type == .folder && store.path == folder.url.path)
    }

    @Test func `numbers, texts and UUIDs name rows, each exactly (PS-15)`() throws {
        let entity = try #require(coordinator.managedObjectModel.entity(named: "Book"))
        let store = UUID()
        let uuid = UUID()
        let references: [RowReference] = [
            .number(0), .number(1), .number(1 << 63), .number(.max), .text(""), .text("1"), .text("a/b"),
            .text("\u{E9}"), .text("e\u{301}"), .text("日本"), .uuid(uuid), .text(uuid.uuidString),
        ]
        let ids = references.map { ObjectID($0, of: entity, inStore: store) }

        #expect(Set(ids).count == references.count && ids.map(\.reference) == references)
        for (position, reference) in references.enumerated() {
            #expect(references.indices.filter { references[$0] == reference } == [position], "\(reference)")
        }
        #expect(references.map { ObjectID($0, of: entity, inStore: store) } == ids)
        for id in ids {
            #expect(ObjectID(uriRepresentation: id.uriRepresentation) == id, "\(id)")
            #expect(id.storeIdentifier == store && id.entityName == "Book" && !id.isTemporary)
        }
    }

    private func id(_ entity: String, _ reference: RowReference) throws -> ObjectID {
        let entity = try #require(coordinator.managedObjectModel.entity(named: entity))
        return ObjectID(reference, of: entity, inStore: folder.identifier)
    }
}
