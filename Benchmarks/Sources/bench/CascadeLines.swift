// The cost of rules between rows: one deletion that deletes many rows, and one change among many objects.
//
// Invariants
//   1. Both contenders have the same rows, an index on the members' reference to their owner, and one durable
//      transaction.

import BenchKit
import Espalier
import Foundation
import Peers

@Entity final class Folder: ManagedObject {
    var name: String = ""
    @Relationship(inverse: \Document.folder, deleteRule: .cascade) var documents: ToMany<Document>
}

@Entity final class Document: ManagedObject {
    var title: String = ""
    @Attribute(.indexed) var number: Int = 0
    var folder: Folder?
}

/// A folder with many documents.
protocol FolderContender: AnyObject {
    static var name: String { get }
    init(folder: String) throws
    func insert(_ count: Int) throws
    /// Adds documents to the folder, which is fetched first, with one save each, and counts all documents after each
    /// save.
    func relate(_ count: Int) throws -> Int
    /// Deletes the folder, whose rule deletes its documents; returns the number of documents that remain.
    func deleteFolder() throws -> Int
    /// Deletes the folder by one request, whose rule deletes its documents; returns the number that remain.
    func deleteFolderByRequest() throws -> Int
    func close() throws
}

struct CascadeLines {
    let count: Int
    let folder: URL

    func all() -> [() -> Line] {
        [
            {
                line("cascade delete", "one owner, and all its members with their index entries; one save, durable") {
                    try $0.deleteFolder()
                }
            },
            {
                line("batch delete with cascade", "the same by a request that makes no objects; durable") {
                    try $0.deleteFolderByRequest()
                }
            },
            { saveOne() },
        ]
    }

    private func line(
        _ name: String, _ note: String, _ delete: @escaping (any FolderContender) throws -> Int
    ) -> Line {
        let types: [any FolderContender.Type] =
            SQLite.shared == nil ? [EspalierFolders.self] : [EspalierFolders.self, SQLiteFolders.self]
        let work = StoreWork<any FolderContender>(
            folder: folder, place: "cascade", rows: .copied { try $0.insert(count) }, body: delete
        ) { left, _ in
            guard left == 0 else { throw WrongResult(expected: 0, found: left) }
        }
        return Line(
            name, note: note, operationCount: count,
            contenders: work.contenders(
                types.map { type in
                    StoreContender(
                        name: type.name, open: { try type.init(folder: $0) }, close: { try $0.close() })
                }))
    }

    /// Saves of one changed object each, in a context that has all objects in memory.
    private func saveOne() -> Line {
        let saves = 200
        return Line(
            "save one of many", note: "one changed object in a context of \(count), not synced apart from the commit",
            operationCount: saves,
            contenders: [
                Line.Contender("espalier") {
                    let place = folder.appendingPathComponent("one-of-many").path
                    try? FileManager.default.removeItem(atPath: place)
                    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
                    let folders = try EspalierFolders(folder: place)
                    try folders.insert(count)
                    let time = try folders.saveOne(saves)
                    try folders.close()
                    return time
                }
            ])
    }
}

final class EspalierFolders: FolderContender {
    static let name = "espalier"
    private let coordinator: PersistentStoreCoordinator

    init(folder: String) throws {
        coordinator = try PersistentStoreCoordinator(
            file: folder + "/folders.espalier", of: [Folder.self, Document.self])
    }

    func insert(_ count: Int) throws {
        var context = ManagedObjectContext(coordinator)
        var folder = Folder(context: context)
        folder.name = "Folder"
        for number in 0..<count {
            let document = Document(context: context)
            (document.title, document.number, document.folder) = ("Document number \(number)", number, folder)
            guard (number + 1) % People.portionCount == 0, number + 1 < count else { continue }
            // The objects of a portion end with its context.
            try context.save()
            let id = folder.objectID
            context = ManagedObjectContext(coordinator)
            guard let same = try context.existingObject(with: id) as? Folder else { return }
            folder = same
        }
        try context.save()
    }

    func relate(_ count: Int) throws -> Int {
        let context = ManagedObjectContext(coordinator)
        guard let folder = try context.fetch(FetchRequest<Folder>()).first else { return -1 }
        var total = 0
        for number in 0..<count {
            let document = Document(context: context)
            (document.title, document.number) = ("Another document \(number)", number)
            folder.documents.insert(document)
            try context.save()
            total = folder.documents.count
        }
        return total
    }

    func deleteFolder() throws -> Int {
        let context = ManagedObjectContext(coordinator)
        for folder in try context.fetch(FetchRequest<Folder>()) { try context.delete(folder) }
        try context.save()
        return try context.count(for: FetchRequest<Document>())
    }

    func deleteFolderByRequest() throws -> Int {
        let context = ManagedObjectContext(coordinator)
        try context.execute(BatchDeleteRequest(FetchRequest<Folder>()))
        return try context.count(for: FetchRequest<Document>())
    }

    func saveOne(_ saves: Int) throws -> Double {
        let context = ManagedObjectContext(coordinator)
        let documents = try context.fetch(FetchRequest<Document>())
        for document in documents { blackHole(document.number) }
        return try nanoseconds {
            for number in 0..<saves {
                documents[number * 397 % documents.count].title = "Title \(number)"
                try context.save()
            }
        }
    }

    func close() throws { try coordinator.closeStores() }
}

final class SQLiteFolders: SQLiteTables, FolderContender {
    static let name = "sqlite"

    convenience init(folder: String) throws {
        try self.init(path: folder + "/folders.sqlite")
        for text in [
            "PRAGMA foreign_keys=ON",
            "CREATE TABLE IF NOT EXISTS folder(pk INTEGER PRIMARY KEY, version INTEGER, name TEXT)",
            """
            CREATE TABLE IF NOT EXISTS document(pk INTEGER PRIMARY KEY, version INTEGER, title TEXT, number INTEGER,
                folder INTEGER REFERENCES folder(pk) ON DELETE CASCADE)
            """,
            "CREATE INDEX IF NOT EXISTS document_number ON document(number)",
            "CREATE INDEX IF NOT EXISTS document_folder ON document(folder)",
        ] { try connection.execute(text) }
    }

    func insert(_ count: Int) throws {
        try connection.execute("BEGIN IMMEDIATE")
        try connection.execute("INSERT INTO folder(pk, version, name) VALUES(1, 1, 'Folder')")
        let insert = try statement("INSERT INTO document(pk, version, title, number, folder) VALUES(?, 1, ?, ?, 1)")
        for number in 0..<count {
            _ = library.bindInt64(insert, 1, Int64(number + 1))
            bind("Document number \(number)", insert, 2)
            _ = library.bindInt64(insert, 3, Int64(number))
            try connection.run(insert)
        }
        try connection.execute("COMMIT")
    }

    func relate(_ count: Int) throws -> Int {
        let insert = try statement("INSERT INTO document(version, title, number, folder) VALUES(1, ?, ?, 1)")
        let counting = try statement("SELECT count(*) FROM document WHERE folder = 1")
        var total = 0
        for number in 0..<count {
            bind("Another document \(number)", insert, 1)
            _ = library.bindInt64(insert, 2, Int64(number))
            try connection.run(insert)
            guard library.step(counting) == SQLite.row else { return -1 }
            total = Int(library.columnInt64(counting, 0))
            _ = library.reset(counting)
        }
        return total
    }

    func deleteFolder() throws -> Int {
        try connection.execute("DELETE FROM folder")
        let count = try statement("SELECT count(*) FROM document")
        guard library.step(count) == SQLite.row else { return -1 }
        return Int(library.columnInt64(count, 0))
    }

    func deleteFolderByRequest() throws -> Int { try deleteFolder() }
}
