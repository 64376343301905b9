// A real load: the 424,000 objects of the Open English WordNet, against the same rows in hand-written tables of SQLite.
//
//   bench --wordnet FOLDER    the folder of `synsets.jsonl`, `senses.tsv` and `synset_relations.tsv`; by default
//                             ../shared/data/english-wordnet; without the files there are no such lines
//
// Invariants
//   1. Both contenders get the same texts, which are read before the clock starts, and look up the same words.
//   2. The sums over the values that were read must agree between the contenders.

import BenchKit
import Espalier
import Foundation
import Peers

@Entity final class Synset: ManagedObject {
    @Attribute(.indexed) var name: String = ""
    var field: String = ""
    var definition: String = ""
    @Relationship(inverse: \Sense.synset) var senses: Set<Sense>
    @Relationship(inverse: \SynsetRelation.source) var relations: Set<SynsetRelation>
    @Relationship(inverse: \SynsetRelation.target) var backRelations: Set<SynsetRelation>
}

@Entity final class Sense: ManagedObject {
    @Attribute(.indexed) var lemma: String = ""
    var partOfSpeech: String = ""
    var number: Int = 0
    var synset: Synset?
}

@Entity final class SynsetRelation: ManagedObject {
    var kind: String = ""
    var source: Synset?
    var target: Synset?
}

/// The content of the WordNet's files.
struct WordNet {
    struct SynsetText: Decodable {
        let name, field, definition: String

        init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            name = try values.decode(String.self)
            field = try values.decode(String.self)
            _ = try values.decodeIfPresent(String.self)
            _ = try values.decodeIfPresent(String.self)
            definition = try values.decodeIfPresent(String.self) ?? ""
        }
    }

    /// Synsets by position; senses and relations refer to the position.
    let synsets: [SynsetText]
    let senses: [(lemma: String, partOfSpeech: String, number: Int, synset: Int)]
    let relations: [(source: Int, kind: String, target: Int)]

    var rowCount: Int { synsets.count + senses.count + relations.count }

    /// Reads the files in `folder`; `nil` if they do not exist.
    init?(folder: URL) throws {
        func lines(_ name: String) throws -> [Substring] {
            try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8).split(separator: "\n")
        }
        guard FileManager.default.fileExists(atPath: folder.appendingPathComponent("synsets.jsonl").path) else {
            return nil
        }
        let decoder = JSONDecoder()
        synsets = try lines("synsets.jsonl").map { try decoder.decode(SynsetText.self, from: Data($0.utf8)) }
        let positions = Dictionary(uniqueKeysWithValues: synsets.enumerated().map { ($0.element.name, $0.offset) })
        senses = try lines("senses.tsv").compactMap { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 4, let number = Int(fields[2]), let synset = positions[fields[3]] else { return nil }
            return (fields[0], fields[1], number, synset)
        }
        relations = try lines("synset_relations.tsv").compactMap { line in
            let fields = line.split(separator: "\t").map(String.init)
            guard fields.count == 3, let source = positions[fields[0]], let target = positions[fields[2]] else {
                return nil
            }
            return (source, fields[1], target)
        }
    }

    /// The words that are looked up: every 19th lemma of the senses.
    var someLemmas: [String] { stride(from: 0, to: senses.count, by: 19).map { senses[$0].lemma } }
}

/// A contender that stores a WordNet.
protocol WordNetContender: AnyObject {
    static var name: String { get }
    init(folder: String) throws
    /// Stores everything in one durable transaction.
    func load(_ net: WordNet) throws
    /// The bytes of the definitions of all senses of each word.
    func definitions(of lemmas: [String]) throws -> Int
    /// The number of synsets that are one relation away from the senses of each word, added over all words.
    func neighbours(of lemmas: [String]) throws -> Int
    func close() throws
}

final class EspalierWordNet: WordNetContender {
    static let name = "espalier"
    private let coordinator: PersistentStoreCoordinator

    init(folder: String) throws {
        coordinator = try PersistentStoreCoordinator(
            file: folder + "/wordnet.espalier", of: [Synset.self, Sense.self, SynsetRelation.self])
    }

    func load(_ net: WordNet) throws {
        let context = ManagedObjectContext(coordinator)
        let synsets = net.synsets.map { text in
            let synset = Synset(context: context)
            synset.name = text.name
            synset.field = text.field
            synset.definition = text.definition
            return synset
        }
        for text in net.senses {
            let sense = Sense(context: context)
            sense.lemma = text.lemma
            sense.partOfSpeech = text.partOfSpeech
            sense.number = text.number
            sense.synset = synsets[text.synset]
        }
        for text in net.relations {
            let relation = SynsetRelation(context: context)
            relation.kind = text.kind
            relation.source = synsets[text.source]
            relation.target = synsets[text.target]
        }
        try context.save()
    }

    private func senses(of lemma: String, in context: ManagedObjectContext) throws -> [Sense] {
        let predicate = FetchPredicate.comparison(
            .init(.keyPath(FetchKeyPath(["lemma"])), .equal, .value(.string(lemma))))
        return try context.fetch(FetchRequest<Sense>(predicate))
    }

    func definitions(of lemmas: [String]) throws -> Int {
        let context = ManagedObjectContext(coordinator)
        var sum = 0
        for lemma in lemmas {
            for sense in try senses(of: lemma, in: context) { sum &+= sense.synset?.definition.utf8.count ?? 0 }
        }
        return sum
    }

    func neighbours(of lemmas: [String]) throws -> Int {
        let context = ManagedObjectContext(coordinator)
        var count = 0
        for lemma in lemmas {
            for sense in try senses(of: lemma, in: context) {
                for relation in sense.synset?.relations ?? [] where relation.target?.name.isEmpty == false {
                    count += 1
                }
            }
        }
        return count
    }

    func close() throws { try coordinator.closeStores() }
}

final class SQLiteWordNet: SQLiteTables, WordNetContender {
    static let name = "sqlite"

    required init(folder: String) throws {
        try super.init(path: folder + "/wordnet.sqlite")
        for text in [
            "CREATE TABLE IF NOT EXISTS synset(pk INTEGER PRIMARY KEY, version INTEGER, name TEXT, field TEXT,"
                + " definition TEXT)",
            "CREATE TABLE IF NOT EXISTS sense(pk INTEGER PRIMARY KEY, version INTEGER, lemma TEXT, pos TEXT,"
                + " number INTEGER, synset INTEGER)",
            "CREATE TABLE IF NOT EXISTS relation(pk INTEGER PRIMARY KEY, version INTEGER, kind TEXT, source INTEGER,"
                + " target INTEGER)",
            "CREATE INDEX IF NOT EXISTS synset_name ON synset(name)",
            "CREATE INDEX IF NOT EXISTS sense_lemma ON sense(lemma)",
            "CREATE INDEX IF NOT EXISTS sense_synset ON sense(synset)",
            "CREATE INDEX IF NOT EXISTS relation_source ON relation(source)",
            "CREATE INDEX IF NOT EXISTS relation_target ON relation(target)",
        ] { try connection.execute(text) }
    }

    func load(_ net: WordNet) throws {
        try connection.execute("BEGIN IMMEDIATE")
        let synset = try statement("INSERT INTO synset(pk, version, name, field, definition) VALUES(?, 1, ?, ?, ?)")
        for (position, text) in net.synsets.enumerated() {
            _ = library.bindInt64(synset, 1, Int64(position + 1))
            bind(text.name, synset, 2)
            bind(text.field, synset, 3)
            bind(text.definition, synset, 4)
            try connection.run(synset)
        }
        let sense = try statement("INSERT INTO sense(pk, version, lemma, pos, number, synset) VALUES(?, 1, ?, ?, ?, ?)")
        for (position, text) in net.senses.enumerated() {
            _ = library.bindInt64(sense, 1, Int64(position + 1))
            bind(text.lemma, sense, 2)
            bind(text.partOfSpeech, sense, 3)
            _ = library.bindInt64(sense, 4, Int64(text.number))
            _ = library.bindInt64(sense, 5, Int64(text.synset + 1))
            try connection.run(sense)
        }
        let relation = try statement("INSERT INTO relation(pk, version, kind, source, target) VALUES(?, 1, ?, ?, ?)")
        for (position, text) in net.relations.enumerated() {
            _ = library.bindInt64(relation, 1, Int64(position + 1))
            bind(text.kind, relation, 2)
            _ = library.bindInt64(relation, 3, Int64(text.source + 1))
            _ = library.bindInt64(relation, 4, Int64(text.target + 1))
            try connection.run(relation)
        }
        try connection.execute("COMMIT")
    }

    /// Calls `body` for each row that `statement` returns for `key`.
    private func forEach(_ statement: SQLite.Statement, _ key: Int64, _ body: () -> Void) {
        _ = library.bindInt64(statement, 1, key)
        while library.step(statement) == SQLite.row { body() }
        _ = library.reset(statement)
    }

    /// Calls `body` with the synset of each sense of a word.
    private func forEachSynset(of lemmas: [String], _ body: (Int64) -> Void) throws {
        let sense = try statement("SELECT synset FROM sense WHERE lemma = ?")
        for lemma in lemmas {
            bind(lemma, sense, 1)
            while library.step(sense) == SQLite.row { body(library.columnInt64(sense, 0)) }
            _ = library.reset(sense)
        }
    }

    func definitions(of lemmas: [String]) throws -> Int {
        let synset = try statement("SELECT definition FROM synset WHERE pk = ?")
        var sum = 0
        try forEachSynset(of: lemmas) { key in forEach(synset, key) { sum &+= text(synset, 0).utf8.count } }
        return sum
    }

    func neighbours(of lemmas: [String]) throws -> Int {
        let relation = try statement("SELECT target FROM relation WHERE source = ?")
        let synset = try statement("SELECT name FROM synset WHERE pk = ?")
        var count = 0
        try forEachSynset(of: lemmas) { key in
            forEach(relation, key) {
                forEach(synset, library.columnInt64(relation, 0)) { count &+= text(synset, 0).isEmpty ? 0 : 1 }
            }
        }
        return count
    }
}

/// The lines.
struct WordNetLines {
    let net: WordNet
    let folder: URL

    func all() -> [() -> Line] {
        let lemmas = net.someLemmas
        return [
            {
                line("wordnet load", net.rowCount, "\(net.rowCount) rows, one save, durable", isLoaded: false) {
                    try $0.load(net)
                    return 0
                }
            },
            {
                line("wordnet definitions", lemmas.count, "word by index, its senses, their synsets' texts") {
                    try $0.definitions(of: lemmas)
                }
            },
            {
                line("wordnet neighbours", lemmas.count, "word by index, its senses, all relations of their synsets") {
                    try $0.neighbours(of: lemmas)
                }
            },
        ]
    }

    private func line(
        _ name: String, _ operations: Int, _ note: String, isLoaded: Bool = true,
        _ body: @escaping (any WordNetContender) throws -> Int
    ) -> Line {
        let agreement = Agreement()
        let types: [any WordNetContender.Type] =
            SQLite.shared == nil ? [EspalierWordNet.self] : [EspalierWordNet.self, SQLiteWordNet.self]
        return Line(
            name, note: note, operationCount: operations,
            contenders: types.map { type in
                let place = folder.appendingPathComponent("wordnet-\(type.name)")
                return Line.Contender(type.name) {
                    // All lines that read use one loaded store.
                    let isThere = FileManager.default.fileExists(atPath: place.path)
                    if !isLoaded || !isThere {
                        try? FileManager.default.removeItem(at: place)
                        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
                    }
                    if isLoaded && !isThere {
                        let store = try type.init(folder: place.path)
                        try store.load(net)
                        try store.close()
                    }
                    let store = try type.init(folder: place.path)
                    var sum = 0
                    let time = try nanoseconds { sum = try body(store) }
                    try store.close()
                    try agreement.check(sum)
                    return time
                }
            })
    }
}
