// Properties that are requests: their variables, when the request is made, and what is wrong with one (FR-24, PR-15).

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

/// A class with a fetched property, written as `@Entity` expands.
private final class Cup: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription("Cup", properties: _entityProperties)
    }
    override class var _entityProperties: [_PropertyDescription] {
        [
            EntityDescription._property("size", Int.self, defaultValue: 0),
            EntityDescription._fetched(
                "larger", [Cup].self, where: "size > $FETCH_SOURCE.size", sortedBy: [.init("size")]),
        ]
    }
    var size: Int {
        get { _get("size", at: 0) }
        set { _set("size", at: 0, newValue) }
    }
    var larger: [Cup] { _getFetched("larger") }
}

@Suite struct FetchedPropertyTests {
    @Test(arguments: StoreKind.allCases)
    func `a property of a class reads the objects of its request (FR-24)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind, classes: [Cup.self])
        let cups = [3, 1, 2].map { size in
            let cup = Cup(context: stack.context)
            cup.size = size
            return cup
        }
        try stack.context.save()

        #expect(cups[1].larger == [cups[2], cups[0]] && cups[0].larger.isEmpty)
    }

    @Test(arguments: BookShelf.types)
    func `a fetched property finds objects by the values, lists and counts of its object, in order (FR-24)`(
        _ type: StoreType
    ) throws {
        let shelf = try BookShelf(type)
        let writer = shelf.newContext()
        let (anna, other) = (try writer.makeAuthor("Anna", 1950), try writer.makeAuthor("Anna", 1920))
        let third = try writer.makeAuthor("Anna", 1930)
        try writer.makeBook("b", "crime", 2000, by: other)
        try writer.makeBook("a", "essay", 2001, by: other)
        try writer.makeBook("c", "poems", 2002, by: other)
        try writer.makeBook("*d", "crime", 1999, by: anna)
        try writer.makeBook("e", "essay", 1998, by: anna)
        try writer.makeBook("f", "crime", 2003, entity: "Novel")
        try writer.save()
        let context = shelf.newContext()
        let author = try context.existingObject(with: anna.objectID)

        let namesakes = try author.fetchedObjects(forKey: "namesakes")

        #expect(namesakes.map(\.objectID) == [other.objectID, third.objectID])
        #expect(try author.value(forKey: "namesakes") == .toMany(namesakes))
        #expect(try author.found("rivals", "title") == ["f", "a", "b"])
        #expect(try author.found("busier", "name") == ["Anna"])
        #expect(try context.object(with: third.objectID).found("rivals", "title").isEmpty)
        let busier = try context.object(with: third.objectID).fetchedObjects(forKey: "busier")
        #expect(Set(busier.map(\.objectID)) == [anna.objectID, other.objectID])
    }

    @Test(arguments: BookShelf.types)
    func `the variable of the property has its name and the texts of the application (PR-15)`(
        _ type: StoreType
    ) throws {
        let shelf = try BookShelf(type)
        let context = shelf.newContext()
        let author = try context.makeAuthor("Anna")
        try context.makeBook("*a", "crime", by: author)
        try context.makeBook("b", "crime", by: author)
        try context.makeBook("*c", "crime")

        #expect(try author.found("hits", "title") == ["*a"])
        try context.save()
        context.refresh(author, mergesChanges: false)
        #expect(try author.found("hits", "title") == ["*a"])
    }

    @Test(arguments: BookShelf.types)
    func `an inherited property belongs to subentities, and its own limit holds (FR-24)`(_ type: StoreType) throws {
        let shelf = try BookShelf(type)
        let context = shelf.newContext()
        for (title, year) in [("c", 3), ("a", 1), ("b", 2)] {
            try context.makeBook(title, "crime", Int64(year), entity: "Novel")
        }
        let book = try context.makeBook("d", "crime")
        try context.save()
        let novel = try #require(
            try context.fetch(FetchRequest<ManagedObject>(entityName: "Novel", sortKeys: [SortKey("title")])).first)

        #expect(try novel.found("similar", "title") == ["a", "b", "c", "d"])
        #expect(try novel.found("first", "title") == ["a", "b"])
        #expect(contextError { _ = try book.fetchedObjects(forKey: "first") }?.code == 1550)
    }

    @Test(arguments: BookShelf.types)
    func `a result is made at the first read and stays until its object is refreshed (FR-24)`(
        _ type: StoreType
    ) throws {
        let shelf = try BookShelf(type)
        let context = shelf.newContext()
        let book = try context.makeBook("a", "crime")
        let other = try context.makeBook("b", "crime")
        #expect(try book.found("similar", "title") == ["a", "b"])

        // The results do not follow changes: not of destinations, nor of the object itself.
        let new = try context.makeBook("c", "crime")
        try other.setValue(.string("poems"), forKey: "genre")
        #expect(try book.found("similar", "title") == ["a", "b"])
        context.refresh(book, mergesChanges: true)
        #expect(try book.found("similar", "title") == ["a", "c"])
        #expect(!book.isFault && book.isInserted)
        try context.save()
        #expect(try book.found("similar", "title") == ["a", "c"])

        let writer = shelf.newContext()
        try writer.makeBook("z", "crime")
        try writer.save()
        context.refresh(new, mergesChanges: true)
        #expect(try book.found("similar", "title") == ["a", "c"])
        context.refresh(book, mergesChanges: true)
        #expect(book.isFault)
        #expect(try book.found("similar", "title") == ["a", "c", "z"])
        #expect(!book.isFault)

        // Unsaved changes survive the refresh, and count.
        try book.setValue(.string("poems"), forKey: "genre")
        #expect(try book.found("similar", "title") == ["a", "c", "z"])
        context.refresh(book, mergesChanges: true)
        #expect(try book.found("similar", "title") == ["a", "b"])
        context.refresh(book, mergesChanges: false)
        #expect(try book.found("similar", "title") == ["a", "c", "z"])
        try context.delete(new)
        try context.save()
        // The object of the deleted row reads as empty.
        let found = try book.fetchedObjects(forKey: "similar")
        #expect(found.map { $0[attribute: "title"] } == [.string("a"), .null, .string("z")])
        #expect(found.map(\.isDeleted) == [false, true, false])
        context.refreshAllObjects()
        #expect(try book.found("similar", "title") == ["a", "z"])
        context.reset()
        let again = try context.existingObject(with: book.objectID)
        #expect(try again.found("similar", "title") == ["a", "z"])
    }

    @Test(arguments: BookShelf.types)
    func `a child's fetched property sees the unsaved changes of child and parent (FR-24)`(_ type: StoreType) throws {
        let shelf = try BookShelf(type)
        let context = shelf.newContext()
        let stored = try context.makeBook("a", "crime")
        try context.save()
        let unsaved = try context.makeBook("b", "crime")
        let child = ManagedObjectContext(parent: context)
        try child.makeBook("c", "crime")

        let ownSource = try child.existingObject(with: stored.objectID)
        #expect(try ownSource.found("similar", "title") == ["a", "b", "c"])
        #expect(try child.existingObject(with: unsaved.objectID).found("similar", "title") == ["a", "b", "c"])
        // The parent does not see the child's changes before they are saved to it.
        #expect(try stored.found("similar", "title") == ["a", "b"])
        try child.save()
        context.refresh(stored, mergesChanges: true)
        #expect(try stored.found("similar", "title") == ["a", "b", "c"])
    }

    @Test func `an object whose insertion is taken back leaves the result, and one that is saved stays (FR-24)`() throws
    {
        let shelf = try BookShelf(.btree)
        let context = shelf.newContext()
        let book = try context.makeBook("a", "crime")
        try context.save()
        let (kept, gone) = (try context.makeBook("b", "crime"), try context.makeBook("c", "crime"))
        #expect(try book.found("similar", "title") == ["a", "b", "c"])

        try context.delete(gone)
        try context.save()

        #expect(try book.fetchedObjects(forKey: "similar").map(\.objectID) == [book.objectID, kept.objectID])
    }

    @Test func `objects that find each other are freed, and found again with one trip to the store (FR-24)`() throws {
        let shelf = try BookShelf(.btree)
        let context = shelf.newContext()
        weak var first: ManagedObject?
        weak var second: ManagedObject?
        let id: ObjectID
        do {
            let (book, other) = (try context.makeBook("a", "crime"), try context.makeBook("b", "crime"))
            for number in 0..<20 { try context.makeBook("c\(number)", "crime") }
            try context.save()
            (first, second) = (book, other)
            for object in [book, other] { #expect(try object.found("similar", "title").count == 22) }
            id = book.objectID
        }
        #expect(first == nil && second == nil)

        let book = try context.existingObject(with: id)
        #expect(try book.fetchedObjects(forKey: "similar").count == 22)
        // The objects of the result are in memory no longer: they are faults of one cohort.
        let trips = context.faultTrips
        #expect(try book.found("similar", "title").count == 22)
        #expect(context.faultTrips <= trips + 1)
    }

    @Test func `what cannot be read is an error that names entity and property (FR-24)`() throws {
        let shelf = try BookShelf(.inMemory)
        var context: ManagedObjectContext? = shelf.newContext()
        let book = try #require(try context?.makeBook("(", "crime"))

        guard
            case .fetchedProperty("matching", entity: "Book", .invalidPredicate(let error))? = contextError({
                _ = try book.value(forKey: "matching")
            })
        else {
            Issue.record("no error, or another one")
            return
        }
        guard case .invalidPattern("(", _) = error.reason else {
            Issue.record("\(error)")
            return
        }
        // The error is not kept: a better value gives a result.
        try book.setValue(.string("x+"), forKey: "title")
        try context?.makeBook("xx", "poems")
        #expect(Set(try book.found("matching", "title")) == ["xx"])
        let refused = contextError { try book.setValue(.toMany([]), forKey: "matching") }
        #expect("\(try #require(refused))".contains("Book.matching"))
        #expect("\(try #require(refused))".contains("is the result of a request"))
        #expect("\(try #require(contextError { _ = try book.value(forKey: "matchin") }))".contains("matching"))
        let predicate = try FetchPredicate(format: "ANY matching.title == 'x'")
        let asked = contextError {
            _ = try context?.fetch(FetchRequest<ManagedObject>(entityName: "Book", predicate: predicate))
        }
        #expect("\(try #require(asked))".contains("'Book.matching' is a fetched property"))
        context = nil
        guard case .contextEnded? = contextError({ _ = try book.value(forKey: "matching") }) else {
            Issue.record("a request without a context")
            return
        }
    }
}
