// Nouns of time, as the Open English WordNet has them: synsets, their words, and the relations among them, asked for
// what plain Swift finds in the same lines.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct WordNetTests {
    private struct Synset {
        let code: String
        let words: [String]
        let text: String
    }

    /// A relation from a synset to another one.
    private struct Link: Hashable {
        let source: String
        let kind: String
        let target: String
    }

    /// The lines of the files.
    private struct Words {
        let synsets: [Synset]
        let links: [Link]
        let wordsOf: [String: [String]]
        let linksFrom: [String: [Link]]
        let linksTo: [String: [Link]]

        init() throws {
            func lines(_ name: String) throws -> [[String]] {
                let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "WordNet")
                let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
                return try text.split(separator: "\n").map { line in
                    let fields = line.split(separator: "\t").map(String.init)
                    try #require(fields.count == 3, "\(line)")
                    return fields
                }
            }
            synsets = try lines("synsets.txt").map { fields in
                Synset(code: fields[0], words: fields[1].split(separator: "|").map(String.init), text: fields[2])
            }
            links = try lines("relations.txt").map { Link(source: $0[0], kind: $0[1], target: $0[2]) }
            wordsOf = Dictionary(uniqueKeysWithValues: synsets.map { ($0.code, $0.words) })
            linksFrom = Dictionary(grouping: links, by: \.source)
            linksTo = Dictionary(grouping: links, by: \.target)
        }

        /// The codes of all synsets to which hypernyms lead from one, step by step.
        func hypernyms(of code: String) -> Set<String> {
            var (found, next) = (Set<String>(), [code])
            while let code = next.popLast() {
                for link in linksFrom[code] ?? [] where link.kind == "hypernym" && found.insert(link.target).inserted {
                    next.append(link.target)
                }
            }
            return found
        }
    }

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Synset", attributes: [AttributeDescription("code", .string), AttributeDescription("text", .string)],
                relationships: [
                    RelationshipDescription("senses", to: "Sense", inverse: "synset", .toMany, deleteRule: .cascade),
                    RelationshipDescription("outgoing", to: "Link", inverse: "source", .toMany, deleteRule: .cascade),
                    RelationshipDescription("incoming", to: "Link", inverse: "target", .toMany, deleteRule: .cascade),
                ], uniquenessConstraints: [["code"]]),
            EntityDescription(
                "Sense", attributes: [AttributeDescription("form", .string, isIndexed: true)],
                relationships: [RelationshipDescription("synset", to: "Synset", inverse: "senses")]),
            EntityDescription(
                "Link", attributes: [AttributeDescription("kind", .string, isIndexed: true)],
                relationships: [
                    RelationshipDescription("source", to: "Synset", inverse: "outgoing"),
                    RelationshipDescription("target", to: "Synset", inverse: "incoming"),
                ]),
        ])
    }

    private static func insert(_ words: Words, _ coordinator: PersistentStoreCoordinator) throws {
        func add(_ entityName: String, _ rows: [[String: any PredicateArgument]]) throws -> [ObjectID] {
            var request = BatchInsertRequest(entityName: entityName, objects: rows)
            request.returnsObjectIDs = true
            return try #require(try coordinator.execute(request).objectIDs)
        }
        let made = try add("Synset", words.synsets.map { ["code": $0.code, "text": $0.text] })
        let ids = Dictionary(uniqueKeysWithValues: zip(words.synsets.map(\.code), made))
        var senses: [[String: any PredicateArgument]] = []
        for synset in words.synsets {
            let id = try #require(ids[synset.code])
            for word in synset.words { senses.append(["form": word, "synset": id]) }
        }
        let links = try words.links.map { link -> [String: any PredicateArgument] in
            ["kind": link.kind, "source": try #require(ids[link.source]), "target": try #require(ids[link.target])]
        }
        #expect(try add("Sense", senses).count == senses.count && add("Link", links).count == links.count)
    }

    /// The texts in the columns of the rows that a request finds, in a fixed order.
    private static func texts(
        _ context: ManagedObjectContext, _ entityName: String, _ columns: [FetchColumn], _ format: String
    ) throws -> [[String]] {
        let request = ValueRequest(
            entityName: entityName, predicate: try FetchPredicate(format: format), columns: columns)
        return try context.fetch(request)
            .map { row in row.values.map { if case .string(let text) = $0 { text } else { "" } } }
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    @Test(arguments: StoreKind.allCases)
    func `the nouns of time are found by what their files say of them`(_ kind: StoreKind) throws {
        let words = try Words()
        try withTemporaryFolder { folder in
            let model = try Self.model()
            let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            let store: any PersistentStore =
                kind == .inMemory
                ? InMemoryStore(model: model)
                : try BTreeStore.open(path: folder.appending(path: "words").path, model: model)
            coordinator.add(store)
            try Self.insert(words, coordinator)
            let context = ManagedObjectContext(coordinator)
            try Self.expectSenses(words, context)
            try Self.expectSynsets(words, context)
            try Self.expectGroups(words, context)
            try Self.expectWalks(words, context)
            if let tree = store as? BTreeStore { #expect(try tree.check().isOK) }
            try store.close()
        }
    }

    /// Words by prefix, pattern and part, and relations by what is at their ends.
    private static func expectSenses(_ words: Words, _ context: ManagedObjectContext) throws {
        func expect(_ format: String, _ holds: (String) -> Bool) throws {
            let expected = words.synsets.flatMap { synset in
                synset.words.filter(holds).map { [$0, synset.code] }
            }
            let found = try texts(context, "Sense", ["form", "synset.code"], format)
            #expect(found == expected.sorted { $0.lexicographicallyPrecedes($1) }, "\(format)")
            #expect(!expected.isEmpty, "\(format) finds nothing")
        }
        try expect("form == 'day'") { $0 == "day" }
        try expect("form BEGINSWITH 'mid'") { $0.hasPrefix("mid") }
        try expect("form BEGINSWITH[c] 'MAR'") { $0.lowercased().hasPrefix("mar") }
        try expect("form LIKE '* day'") { $0.hasSuffix(" day") }
        try expect("form >= 'n' AND form < 'o' AND NOT form CONTAINS ' '") {
            $0 >= "n" && $0 < "o" && !$0.contains(" ")
        }
        let days = words.links.filter { link in
            link.kind == "hypernym" && words.wordsOf[link.target]?.contains("day") == true
        }
        let found = try texts(
            context, "Link", ["source.code", "kind", "target.code"],
            "kind == 'hypernym' AND ANY target.senses.form == 'day'")
        let expected = days.map { [$0.source, $0.kind, $0.target] }
        #expect(found == expected.sorted { $0.lexicographicallyPrecedes($1) } && expected.count > 20)
    }

    /// Synsets by their words and relations.
    private static func expectSynsets(_ words: Words, _ context: ManagedObjectContext) throws {
        func expect(_ format: String, _ holds: (Synset) -> Bool) throws {
            let expected = words.synsets.filter(holds).map { [$0.code] }
            let found = try texts(context, "Synset", ["code"], format)
            #expect(found == expected.sorted { $0.lexicographicallyPrecedes($1) }, "\(format)")
            #expect(!expected.isEmpty, "\(format) finds nothing")
        }
        func outgoing(_ synset: Synset) -> [Link] { words.linksFrom[synset.code] ?? [] }
        func incoming(_ synset: Synset) -> [Link] { words.linksTo[synset.code] ?? [] }
        try expect("text BEGINSWITH 'the '") { $0.text.hasPrefix("the ") }
        try expect("ANY senses.form BEGINSWITH 'day'") { $0.words.contains { $0.hasPrefix("day") } }
        try expect("senses.@count > 5") { $0.words.count > 5 }
        try expect("ANY outgoing.kind == 'mero_part'") { outgoing($0).contains { $0.kind == "mero_part" } }
        try expect("ANY outgoing.target.code == '15137796'") { outgoing($0).contains { $0.target == "15137796" } }
        try expect("incoming.@count > 10") { incoming($0).count > 10 }
        try expect("NOT ANY incoming.kind == 'hypernym' AND ANY incoming.kind == 'mero_part'") {
            let kinds = Set(incoming($0).map(\.kind))
            return !kinds.contains("hypernym") && kinds.contains("mero_part")
        }
    }

    /// The numbers of relations by kind, and the synsets with the most words.
    private static func expectGroups(_ words: Words, _ context: ManagedObjectContext) throws {
        var kinds = ValueRequest(entityName: "Link", columns: ["kind", .count(as: "count")])
        kinds.propertiesToGroupBy = ["kind"]
        kinds.sortKeys = [SortKey("kind")]
        let byKind = Dictionary(grouping: words.links, by: \.kind).sorted { $0.key < $1.key }
        #expect(
            try context.fetch(kinds).map(\.values)
                == byKind.map { [.string($0.key), .integer(Int64($0.value.count))] })
        var synsets = ValueRequest(
            entityName: "Sense", columns: ["synset.code", .count(as: "count"), .min("form", as: "first")])
        synsets.propertiesToGroupBy = ["synset.code"]
        synsets.havingPredicate = try FetchPredicate(format: "count > 6")
        synsets.sortKeys = [SortKey("count", ascending: false), SortKey("synset.code")]
        let expected = words.synsets.filter { $0.words.count > 6 }
            .sorted { ($1.words.count, $0.code) < ($0.words.count, $1.code) }
            .map { synset -> [AttributeValue] in
                [
                    .string(synset.code), .integer(Int64(synset.words.count)), .string(synset.words.min() ?? ""),
                ]
            }
        #expect(try context.fetch(synsets).map(\.values) == expected && expected.count > 5)
    }

    /// Walks up the hypernyms of one synset in twenty, from object to object.
    private static func expectWalks(_ words: Words, _ context: ManagedObjectContext) throws {
        func text(_ object: ManagedObject, _ name: String) -> String {
            if case .string(let text) = object[attribute: name] { text } else { "" }
        }
        let request = FetchRequest<ManagedObject>(entityName: "Synset", sortKeys: [SortKey("code")])
        let synsets = try context.fetch(request)
        #expect(synsets.count == words.synsets.count)
        var stepCount = 0
        for synset in stride(from: 0, to: synsets.count, by: 20).map({ synsets[$0] }) {
            var (found, next) = (Set<String>(), [synset])
            while let synset = next.popLast() {
                for id in try synset.objectIDs(forRelationshipNamed: "outgoing") {
                    let link = try context.object(with: id)
                    guard text(link, "kind") == "hypernym" else { continue }
                    for id in try link.objectIDs(forRelationshipNamed: "target") {
                        let target = try context.object(with: id)
                        if found.insert(text(target, "code")).inserted { next.append(target) }
                    }
                }
            }
            #expect(found == words.hypernyms(of: text(synset, "code")))
            stepCount += found.count
        }
        #expect(stepCount > 100)
    }
}
