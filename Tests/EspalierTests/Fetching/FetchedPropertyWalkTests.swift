// Random changes, saves, refreshes and reads of fetched properties against plain dictionaries, in every kind of store
// and in children: a result is that of its first read, until its object is refreshed.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct FetchedPropertyWalkTests {
    private static let walkCount = campaignCount("ESPALIER_FETCHED_WALKS", default: 8)

    @Test(arguments: BookShelf.types)
    func `random reads give the objects that plain dictionaries give at the first read (FR-24)`(
        _ type: StoreType
    ) throws {
        let first = testSeed(default: 24_000)
        for seed in (0..<UInt64(Self.walkCount)).map({ first &+ $0 }) {
            var walk = try FetchedPropertyWalk(type, seed: seed)
            for _ in 0..<6 where walk.failure == nil { try walk.takeRound() }
            guard let failure = walk.failure else { continue }
            Issue.record("seed \(seed): \(failure)")
            return
        }
    }
}

private struct FetchedPropertyWalk {
    private struct PlainBook {
        var title: String
        var genre: String
        var author: Int?
    }

    private let shelf: BookShelf
    private let root: ManagedObjectContext
    private var random: SeededGenerator
    /// Books by order of creation; deleted ones are nil.
    private var books: [PlainBook?] = []
    /// The names of authors.
    private var authors: [String] = []
    private var authorObjects: [ManagedObject] = []
    /// The books in the root context, deleted ones too.
    private var rootBooks: [ManagedObject] = []
    /// The results that were read in the root context, by book.
    private var rootResults: [Int: [Int]] = [:]
    private(set) var failure: String?

    init(_ type: StoreType, seed: UInt64) throws {
        shelf = try BookShelf(type)
        root = shelf.newContext()
        random = SeededGenerator(seed: seed)
        for number in 0..<3 {
            let author = try root.makeAuthor("author \(number)")
            authors.append("author \(number)")
            authorObjects.append(author)
        }
        try root.save()
    }

    mutating func takeRound() throws {
        let isChild = Int.random(in: 0..<3, using: &random) == 0 && !books.isEmpty
        let context = isChild ? ManagedObjectContext(parent: root) : root
        var objects = rootBooks
        var results = rootResults
        if isChild {
            objects = try books.indices.map { index in
                books[index] == nil ? rootBooks[index] : try context.object(with: rootBooks[index].objectID)
            }
            results = [:]
        }
        for _ in 0..<Int.random(in: 4...16, using: &random) where failure == nil {
            try step(context, &objects, &results)
        }
        try context.save()
        if isChild {
            rootBooks = try objects.indices.map { index in
                if index < rootBooks.count { return rootBooks[index] }
                return books[index] == nil ? objects[index] : try root.object(with: objects[index].objectID)
            }
            if Bool.random(using: &random) { try root.save() }
        } else {
            (rootBooks, rootResults) = (objects, results)
        }
    }

    private mutating func step(
        _ context: ManagedObjectContext, _ objects: inout [ManagedObject], _ results: inout [Int: [Int]]
    ) throws {
        let living = books.indices.filter { books[$0] != nil }
        guard let index = living.randomElement(using: &random), Int.random(in: 0..<6, using: &random) > 0 else {
            let author = Bool.random(using: &random) ? Int.random(in: 0..<authors.count, using: &random) : nil
            let book = PlainBook(
                title: "t\(Int.random(in: 0..<5, using: &random)).\(books.count)",
                genre: "g\(Int.random(in: 0..<3, using: &random))", author: author)
            let object = try context.makeBook(
                book.title, book.genre, by: try author.map { try context.object(with: authorObjects[$0].objectID) })
            books.append(book)
            objects.append(object)
            return
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1:
            let genre = "g\(Int.random(in: 0..<3, using: &random))"
            books[index]?.genre = genre
            try objects[index].setValue(.string(genre), forKey: "genre")
        case 2 where living.count > 2:
            try context.delete(objects[index])
            books[index] = nil
            // A deleted object is read no longer; the results of others keep it.
            results[index] = nil
        case 3:
            context.refresh(objects[index], mergesChanges: true)
            results[index] = nil
        case 4 where context === root: try context.save()
        case 5 where Int.random(in: 0..<4, using: &random) == 0:
            context.refreshAllObjects()
            results = [:]
        default: try compare(index, objects, &results)
        }
    }

    /// Compares a read of the books of the same genre, in the order of their titles.
    private mutating func compare(_ index: Int, _ objects: [ManagedObject], _ results: inout [Int: [Int]]) throws {
        let isFirst = results[index] == nil
        let expected =
            results[index]
            ?? books.indices.filter { books[$0] != nil && books[$0]?.genre == books[index]?.genre }
            .sorted { books[$0]?.title ?? "" < books[$1]?.title ?? "" }
        results[index] = expected
        let found = try objects[index].fetchedObjects(forKey: "similar").map(\.objectID)
        // An object that was never saved leaves the result when it leaves its context.
        let wanted = expected.filter { !objects[$0].objectID.isTemporary || objects[$0].managedObjectContext != nil }
            .map { objects[$0].objectID }
        guard found != wanted else { return }
        failure = "book \(index) found \(found), not \(wanted); first read: \(isFirst)"
    }
}
