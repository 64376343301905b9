// A format of an application's own for stores that are read and written as a whole: a line for each book.

import Espalier
import Foundation
import Testing

/// `3 <tab> 1 <tab> 1974 <tab> The Dispossessed`: key, version, year and title of a book.
struct LinesFormat: GraphFormat {
    func graph(in bytes: [UInt8], _ model: ManagedObjectModel) throws -> StoredGraph {
        var lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map {
            $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
        guard let head = lines.first?.first, let identifier = UUID(uuidString: head),
            let book = model.entity(named: "Book")
        else { throw LinesError.noHead }
        lines.removeFirst()
        var graph = StoredGraph(identifier: identifier)
        for (position, line) in lines.enumerated() {
            guard line.count == 4, let key = UInt64(line[0]), let version = UInt64(line[1]) else {
                throw LinesError.badLine(position + 2)
            }
            graph.rows.append(
                try ObjectSnapshot(
                    id: ObjectID(.number(key), of: book, inStore: identifier), version: version, of: book,
                    values: ["title": .string(line[3]), "year": Int64(line[2]).map { .integer($0) } ?? .null]))
        }
        return graph
    }

    func bytes(of graph: StoredGraph, _ model: ManagedObjectModel) throws -> [UInt8] {
        var text = graph.identifier.uuidString + "\n"
        for row in graph.rows {
            guard case .number(let key)? = row.id.reference, case .string(let title) = row.value(at: 0) else {
                throw LinesError.noTitle
            }
            let year: String = if case .integer(let year) = row.value(at: 1) { "\(year)" } else { "" }
            text += "\(key)\t\(row.version)\t\(year)\t\(title)\n"
        }
        return Array(text.utf8)
    }
}

enum LinesError: Error { case noHead, badLine(Int), noTitle }

@Suite struct LinesFormatTests {
    private func open(_ path: String) throws -> PersistentContainer {
        let type = StoreType(rawValue: "Lines")
        type.register { opening in
            try WholeGraphStore(
                try GraphFile(opening.path ?? "", LinesFormat(), isReadOnly: opening.isReadOnly), type: type,
                model: opening.model)
        }
        return try PersistentContainer(
            model: ManagedObjectModel(for: libraryClasses), stores: [PersistentStoreDescription(type: type, path: path)]
        )
    }

    @Test func `a format of an application holds a whole store (PS-12)`() throws {
        let folder = try LibraryFolder([:])
        let path = folder.url.appending(path: "books.txt").path
        var container = try open(path)
        var context = ManagedObjectContext(container.persistentStoreCoordinator)
        let book = Book(context: context)
        (book.title, book.year) = ("Solaris", 1961)
        try context.save()
        let uri = book.objectID.uriRepresentation
        #expect(try String(contentsOfFile: path, encoding: .utf8).hasSuffix("\n1\t1\t1961\tSolaris\n"))

        _ = Book(context: context)
        let error = #expect(throws: ContextError.self) { try context.save() }
        guard case .store(.outside(path, LinesError.noTitle))? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try ManagedObjectContext(container.persistentStoreCoordinator).count(for: FetchRequest<Book>()) == 1)
        try container.close()

        container = try open(path)
        context = ManagedObjectContext(container.persistentStoreCoordinator)
        let id = try container.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri)
        #expect((try context.existingObject(with: id) as? Book)?.title == "Solaris")
        try container.close()

        try folder.write("\(UUID().uuidString)\n1\t1\tx\n", to: "books.txt")
        let failure = #expect(throws: ContextError.self) { try open(path) }
        guard case .store(.outside(path, LinesError.badLine(2)))? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8).hasSuffix("\n1\t1\tx\n"))
    }
}
