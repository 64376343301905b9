// Authors and books with fetched properties, in every kind of store.

import Espalier
import EspalierModel
import EspalierStore
import Foundation

/// A coordinator on an empty store of a kind, with authors, books and novels, which are books.
final class BookShelf {
    /// The kinds of stores.
    static let types: [StoreType] = [.inMemory, .btree, .binary]

    static let entities: [EntityDescription] = [
        EntityDescription(
            "Author", attributes: [AttributeDescription("name", .string), AttributeDescription("born", .integer16)],
            relationships: [RelationshipDescription("books", to: "Book", inverse: "author", .toMany)],
            fetchedProperties: [
                FetchedPropertyDescription(
                    "namesakes", of: "Author", predicateFormat: "name == $FETCH_SOURCE.name AND SELF != $FETCH_SOURCE",
                    sortedBy: [.init("born")]),
                FetchedPropertyDescription(
                    "rivals", of: "Book",
                    predicateFormat: "genre IN $FETCH_SOURCE.books.genre AND author != $FETCH_SOURCE",
                    sortedBy: [.init("year", isAscending: false)]),
                FetchedPropertyDescription(
                    "busier", of: "Author", predicateFormat: "books.@count > $FETCH_SOURCE.books.@count",
                    sortedBy: [.init("name")]),
                FetchedPropertyDescription(
                    "hits", of: "Book",
                    predicateFormat: "title BEGINSWITH $FETCHED_PROPERTY.userInfo.mark AND author == $FETCH_SOURCE",
                    userInfo: ["mark": "*"]),
            ]),
        EntityDescription(
            "Book",
            attributes: [
                AttributeDescription("title", .string), AttributeDescription("genre", .string, isIndexed: true),
                AttributeDescription("year", .integer16),
            ],
            relationships: [RelationshipDescription("author", to: "Author", inverse: "books")],
            fetchedProperties: [
                FetchedPropertyDescription(
                    "similar", of: "Book", predicateFormat: "genre == $FETCH_SOURCE.genre", sortedBy: [.init("title")]),
                FetchedPropertyDescription(
                    "matching", of: "Book", predicateFormat: "title MATCHES $FETCH_SOURCE.title"),
            ]),
        EntityDescription(
            "Novel", superentity: "Book",
            fetchedProperties: [
                FetchedPropertyDescription(
                    "first", of: "Novel", sortedBy: [.init("year"), .init("title")], fetchLimit: 2)
            ]),
    ]

    let coordinator: PersistentStoreCoordinator
    private let folder: URL?

    init(_ type: StoreType) throws {
        coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(entities: Self.entities))
        guard type != .inMemory else {
            folder = nil
            try coordinator.addPersistentStore(.inMemory)
            return
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder
        try coordinator.addPersistentStore(
            PersistentStoreDescription(type: type, path: folder.appending(path: "books").path))
    }

    deinit {
        for store in coordinator.persistentStores { try? store.close() }
        if let folder { try? FileManager.default.removeItem(at: folder) }
    }

    func newContext() -> ManagedObjectContext { ManagedObjectContext(coordinator) }
}

extension ManagedObjectContext {
    @discardableResult
    func makeAuthor(_ name: String, _ born: Int64 = 0) throws -> ManagedObject {
        let author = try insertNewObject(forEntityName: "Author")
        try author.setValue(.string(name), forKey: "name")
        try author.setValue(.integer(born), forKey: "born")
        return author
    }

    @discardableResult
    func makeBook(
        _ title: String, _ genre: String, _ year: Int64 = 0, by author: ManagedObject? = nil, entity: String = "Book"
    ) throws -> ManagedObject {
        let book = try insertNewObject(forEntityName: entity)
        try book.setValue(.string(title), forKey: "title")
        try book.setValue(.string(genre), forKey: "genre")
        try book.setValue(.integer(year), forKey: "year")
        try book.setValue(.toOne(author), forKey: "author")
        return book
    }
}

extension ManagedObject {
    /// The texts of an attribute of the objects that a fetched property finds.
    func found(_ property: String, _ attribute: String) throws -> [String] {
        try fetchedObjects(forKey: property).map { object in
            guard case .string(let text) = object[attribute: attribute] else { return "?" }
            return text
        }
    }
}
