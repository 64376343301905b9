// Steps from one version of a model to the next, on a store of many rows. The peer is SQLite: `ALTER TABLE`,
// `CREATE INDEX`, `UPDATE`, as an application would migrate its tables by hand.
//
// Invariants
//   1. Every run migrates a fresh copy of the same store, which is on the disk; making and copying it is not timed. The
//      time covers opening, the step, a durable commit and closing.
//   2. Both contenders have the same rows, and no index unless the step makes one.

import BenchKit
import Espalier
import EspalierEngine
import Foundation
import Peers

struct MigrationLines {
    let count: Int
    let folder: URL

    /// A step, and what the peer does for it.
    private struct Step: Sendable {
        let name: String
        let statements: [String]
        let change: @Sendable (inout EntityDescription) -> Void
    }

    private static let steps = [
        Step(name: "add an optional attribute", statements: ["ALTER TABLE person ADD COLUMN rating INTEGER"]) {
            $0.attributes.append(AttributeDescription("rating", .integer32))
        },
        Step(
            name: "add a required attribute with a default",
            statements: ["ALTER TABLE person ADD COLUMN rating INTEGER NOT NULL DEFAULT 3"]
        ) {
            $0.attributes.append(
                AttributeDescription("rating", .integer32, isOptional: false, defaultValue: .integer(3)))
        },
        Step(name: "rename an attribute", statements: ["ALTER TABLE person RENAME COLUMN email TO address"]) {
            ($0.attributes[3].name, $0.attributes[3].renamingIdentifier) = ("address", "email")
        },
        Step(name: "add an index", statements: ["CREATE INDEX person_email ON person(email)"]) {
            $0.attributes[3].isIndexed = true
        },
        Step(name: "change a type", statements: ["UPDATE person SET age = CAST(age AS TEXT)"]) {
            $0.attributes[1].type = .string
        },
    ]

    func all() -> [() -> Line] {
        let stores = MigrationStores(count: count, folder: folder)
        let known = Self.steps.map { step in
            { line(step.name, stores, step.statements) { try Self.model(step.change) } }
        }
        return known + [{ splitLine(stores) }]
    }

    private func line(
        _ name: String, _ stores: MigrationStores, _ statements: [String],
        _ model: @escaping () throws -> ManagedObjectModel
    ) -> Line {
        var contenders = [
            Line.Contender("espalier") {
                let (path, newer) = (try stores.copy("espalier"), try model())
                return try nanoseconds { try BTreeStore.open(path: path, model: newer).close() }
            }
        ]
        if SQLite.shared != nil {
            contenders.append(
                Line.Contender("sqlite") {
                    let path = try stores.copy("sqlite")
                    return try nanoseconds { try MigratingTables(path: path).run(statements) }
                })
        }
        return Line(
            "migration: \(name), \(count) rows", note: "open, migrate, commit durably, close", contenders: contenders)
    }

    /// An entity that is split by a predicate; Espalier calls no code of the application, but makes all objects.
    private func splitLine(_ stores: MigrationStores) -> Line {
        var contenders = [
            Line.Contender("espalier") {
                let path = try stores.copy("espalier")
                let parts = try ManagedObjectModel(entities: [
                    MigrationStores.person("Younger"), MigrationStores.person("Older"),
                ])
                let mappings = MappingModel([
                    EntityMapping("Person", to: "Younger", where: try FetchPredicate(format: "age < 40")),
                    EntityMapping("Person", to: "Older", where: try FetchPredicate(format: "age >= 40")),
                ])
                let former = try Self.model { _ in }
                return try nanoseconds { try mappings.migrate(storeAt: path, from: former, to: parts) }
            }
        ]
        if SQLite.shared != nil {
            contenders.append(
                Line.Contender("sqlite") {
                    let path = try stores.copy("sqlite")
                    return try nanoseconds {
                        try MigratingTables(path: path).run([
                            "CREATE TABLE younger(pk INTEGER PRIMARY KEY, version INTEGER, name, age, score, email)",
                            "CREATE TABLE older(pk INTEGER PRIMARY KEY, version INTEGER, name, age, score, email)",
                            "INSERT INTO younger SELECT * FROM person WHERE age < 40",
                            "INSERT INTO older SELECT * FROM person WHERE age >= 40", "DROP TABLE person",
                        ])
                    }
                })
        }
        return Line(
            "migration: split an entity by a predicate, \(count) rows",
            note: "objects of both sides; sqlite: INSERT SELECT",
            contenders: contenders)
    }

    static func model(_ change: (inout EntityDescription) -> Void) throws -> ManagedObjectModel {
        var person = MigrationStores.person("Person")
        change(&person)
        return try ManagedObjectModel(entities: [person])
    }
}

/// The stores that are migrated.
private final class MigrationStores {
    private let count: Int
    private let folder: URL
    private var originals: [String: URL] = [:]

    init(count: Int, folder: URL) { (self.count, self.folder) = (count, folder) }

    static func person(_ name: String) -> EntityDescription {
        EntityDescription(
            name,
            attributes: [
                AttributeDescription("name", .string), AttributeDescription("age", .integer32),
                AttributeDescription("score", .double), AttributeDescription("email", .string),
            ])
    }

    /// The path of a fresh copy of a contender's store.
    func copy(_ contender: String) throws -> String {
        let original = try originals[contender] ?? make(contender)
        originals[contender] = original
        let place = folder.appendingPathComponent("migrating-\(contender)")
        try? FileManager.default.removeItem(at: place)
        try FileManager.default.copyItem(at: original, to: place)
        // Else the first sync of the step writes the copy.
        for name in try FileManager.default.contentsOfDirectory(atPath: place.path) {
            let file = try FileHandle(forUpdating: place.appendingPathComponent(name))
            try file.synchronize()
            try file.close()
        }
        return place.appendingPathComponent("store").path
    }

    private func make(_ contender: String) throws -> URL {
        let place = folder.appendingPathComponent("migration-\(contender)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let path = place.appendingPathComponent("store").path
        if contender == "sqlite" {
            try MigratingTables(path: path).fill(count)
            return place
        }
        let model = try MigrationLines.model { _ in }
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let store = try BTreeStore.open(path: path, model: model)
        coordinator.add(store)
        for start in stride(from: 0, to: count, by: 50_000) {
            let context = ManagedObjectContext(coordinator)
            for number in start..<min(start + 50_000, count) {
                let person = try context.insertNewObject(forEntityName: "Person")
                try person.setValue(.string(People.name(number)), forKey: "name")
                try person.setValue(.integer(Int64(People.age(number))), forKey: "age")
                try person.setValue(.double(People.score(number)), forKey: "score")
                try person.setValue(.string(People.email(number)), forKey: "email")
            }
            try context.save()
        }
        try store.close()
        return place
    }
}

/// The peer's table; `age` has no affinity, so that it keeps texts.
private final class MigratingTables: SQLiteTables {
    func fill(_ count: Int) throws {
        try connection.execute(
            "CREATE TABLE person(pk INTEGER PRIMARY KEY, version INTEGER, name TEXT, age, score REAL, email TEXT)")
        try connection.execute("BEGIN IMMEDIATE")
        let insertion = try statement("INSERT INTO person VALUES(?, 1, ?, ?, ?, ?)")
        for number in 0..<count {
            _ = library.bindInt64(insertion, 1, Int64(number + 1))
            bind(People.name(number), insertion, 2)
            _ = library.bindInt64(insertion, 3, Int64(People.age(number)))
            _ = library.bindDouble(insertion, 4, People.score(number))
            bind(People.email(number), insertion, 5)
            try connection.run(insertion)
        }
        try connection.execute("COMMIT")
        try close()
    }

    /// Runs the statements in one transaction, and closes the database.
    func run(_ statements: [String]) throws {
        try connection.execute("BEGIN IMMEDIATE")
        for text in statements { try connection.execute(text) }
        try connection.execute("COMMIT")
        try close()
    }
}
