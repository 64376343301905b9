// Deletions that are not saved, in contexts that hold nothing but what they delete: every fetch, relationship and set
// of objects gives what it gives after the same deletions are saved (F-3, MC-14, MC-18, MC-31, MC-44).
//
// The oracle is another grove of the same seed, in which the deletions are saved; it is asked the same questions.
// `ESPALIER_UNSAVED_WALKS` is the number of walks for each kind of store.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct UnsavedDeletionWalkTests {
    private static let walkCount = campaignCount("ESPALIER_UNSAVED_WALKS", default: 5)

    @Test(arguments: Grove.Place.allCases)
    func `deletions whose cascades nobody has in memory are seen as if they were saved, by each kind of context (F-3)`(
        _ place: Grove.Place
    ) throws {
        let first = testSeed(default: 83_000)
        print("ESPALIER_SEED=\(first)")
        var savedCount = 0
        for seed in (0..<UInt64(Self.walkCount)).map({ first &+ $0 }) {
            let walk = try UnsavedDeletionWalk(place, seed: seed)
            if walk.expected != nil { savedCount += 1 }
            for mode in UnsavedDeletionWalk.Mode.allCases {
                guard let failure = try walk.failure(in: mode) else { continue }
                Issue.record("seed \(seed), \(mode): \(failure)\n\(walk.grove.rulesText)\ndeleted: \(walk.owners)")
                return
            }
        }
        #expect(savedCount * 2 >= Self.walkCount, "\(savedCount) of \(Self.walkCount) deletions can be saved")
    }
}

/// Some deletions, and what is left after they are saved.
private struct UnsavedDeletionWalk {
    /// A kind of context that deletes, or that is asked.
    enum Mode: CaseIterable {
        /// A context without a child and an undo manager.
        case plain
        /// The same, which holds some other objects.
        case holding
        case undo
        /// A context whose child was made before the deletions.
        case parent
        /// A context whose child was made after them.
        case laterParent
        /// A child.
        case child
    }

    /// A question that has the same answer in all groves of a seed.
    private struct Question {
        let text: String
        let answer: (ManagedObjectContext) throws -> [String]
    }

    /// The rest of a grove.
    struct Rest {
        var answers: [[String]] = []
        /// The destinations of each object that is left.
        var destinations: [String: [String: [String]]] = [:]
    }

    let grove: GroveModel
    let owners: [String]
    /// `nil` if the rules forbid the deletions.
    private(set) var expected: Rest?
    private let place: Grove.Place
    private let seed: UInt64
    private let questions: [Question]
    private let random: SeededGenerator

    init(_ place: Grove.Place, seed: UInt64) throws {
        (self.place, self.seed) = (place, seed)
        var random = SeededGenerator(seed: seed)
        let grove = try GroveModel(&random)
        let saved = try Grove(grove, in: place, seed: seed)
        let owners = saved.ids.keys.sorted().shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random))
        let questions = try Self.questions(grove.model, &random)
        (self.grove, self.owners, self.questions, self.random) = (grove, Array(owners), questions, random)
        let context = saved.newContext()
        for name in owners {
            if let id = saved.ids[name] { try context.delete(context.existingObject(with: id)) }
        }
        // Nothing is asked before the save.
        if contextError({ try context.save() }) == nil { expected = try Self.rest(saved, questions) }
    }

    /// The objects that a new context finds.
    private static func rest(_ grove: Grove, _ questions: [Question]) throws -> Rest {
        let context = grove.newContext()
        var rest = Rest()
        for question in questions { rest.answers.append(try question.answer(context)) }
        for entity in GroveModel.entities where entity != "Oak" {
            for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity)) {
                rest.destinations[object.groveName] = try grove.destinations(of: object, in: context)
            }
        }
        return rest
    }

    // MARK: Questions

    private static func questions(
        _ model: ManagedObjectModel, _ random: inout SeededGenerator
    ) throws -> [Question] {
        var questions: [Question] = []
        for name in GroveModel.entities {
            guard let entity = model.entity(named: name) else { continue }
            var formats: [String?] = [nil, "size > 2", "name ENDSWITH '1'"]
            for relationship in entity.relationships {
                let path = relationship.name
                formats +=
                    relationship.isToMany
                    ? ["\(path).@count == 0", "\(path).@count > 1", "ANY \(path).size > 2", "ALL \(path).size > 1"]
                    : ["\(path) == nil", "\(path).size > 1", "\(path).name ENDSWITH '2' OR size == 0"]
            }
            if name != "Bird", name != "Nest" { formats += ["birdCount == 0", "birdCount > 1"] }
            for format in formats.shuffled(using: &random).prefix(8) {
                questions.append(try question(name, format, &random))
            }
        }
        for (name, path) in [("Tree", "birdCount"), ("Bird", "tree.name"), ("Bird", "tree.birdCount")] {
            questions.append(
                Question(text: "\(path) of \(name)") { context in
                    try context.rows(name, ["name", FetchColumn(path)], sort: [SortKey("name")]).map { "\($0)" }
                })
            questions.append(
                Question(text: "groups of \(name) by \(path)") { context in
                    let columns = [FetchColumn(path), try FetchColumn("n", format: "count:(name)")]
                    return try context.rows(name, columns, by: [FetchColumn(path)], sort: [SortKey(path)])
                        .map { "\($0)" }
                })
        }
        return questions.shuffled(using: &random)
    }

    /// A condition on objects of an entity, asked in one of many forms.
    private static func question(
        _ entity: String, _ format: String?, _ random: inout SeededGenerator
    ) throws -> Question {
        var made = FetchRequest<ManagedObject>(
            entityName: entity, predicate: try format.map { try FetchPredicate(format: $0) },
            sortKeys: [SortKey("name")])
        made.includesSubentities = Int.random(in: 0..<5, using: &random) > 0
        if Int.random(in: 0..<3, using: &random) == 0 {
            made.fetchOffset = Int.random(in: 0...2, using: &random)
            made.fetchLimit = Int.random(in: 1...4, using: &random)
        }
        let request = made
        let form = Int.random(in: 0..<6, using: &random)
        return Question(text: "\(request.terms.debugDescription), form \(form)") { context in
            switch form {
            case 0: return try context.fetch(request).map(\.groveName)
            case 1: return ["\(try context.count(for: request))"]
            case 2:
                return try context.fetchIDs(request).map { try context.existingObject(with: $0).groveName }
            case 3:
                var paged = request
                paged.fetchBatchSize = 2
                return try context.fetchPages(paged).map(\.groveName)
            case 4:
                var names: [String] = []
                try context.enumerate(request, batchSize: 2) { names.append($0.groveName) }
                return names
            default:
                return try context.fetch(ValueRequest(request.terms, columns: ["name", "size"])).map { "\($0.values)" }
            }
        }
    }

    // MARK: Comparing

    /// The first difference between what contexts of a mode show and what is left after a save.
    func failure(in mode: Mode) throws -> String? {
        var random = random
        let own = try Grove(grove, in: place, seed: seed)
        let root = own.newContext()
        if mode == .undo { root.undoManager = UndoStack() }
        let early = mode == .parent || mode == .child ? ManagedObjectContext(parent: root) : nil
        let context = mode == .child ? early ?? root : root
        var held: [ManagedObject] = []
        if mode == .holding {
            for name in own.ids.keys.sorted() where Int.random(in: 0..<4, using: &random) == 0 {
                guard let id = own.ids[name] else { continue }
                held.append(try context.existingObject(with: id))
            }
        }
        for name in owners {
            guard let id = own.ids[name] else { continue }
            // The cascades of an earlier deletion may have reached it.
            guard let object = try? context.existingObject(with: id) else { continue }
            try context.delete(object)
            if Bool.random(using: &random) { context.processPendingChanges() }
        }
        guard let expected else {
            let isRefused = contextError { try save(context, root) } != nil
            return isRefused ? nil : "a deletion that the rules forbid was saved"
        }
        context.processPendingChanges()
        if let alive = held.first(where: { $0.isDeleted != (expected.destinations[$0.groveName] == nil) }) {
            return "\(alive.groveName), which was in memory, is deleted: \(alive.isDeleted)"
        }
        let late = mode == .laterParent ? ManagedObjectContext(parent: root) : nil
        // A child's deletions are not seen above it.
        let readers = mode == .child ? [context] : [context, early, late].compactMap(\.self)
        for reader in readers.shuffled(using: &random) {
            let deletes = reader === context
            if let failure = try difference(expected, own, reader, deletes: deletes, &random) { return failure }
        }
        if let error = contextError({ try save(context, root) }) { return "the save is refused: \(error)" }
        if let finding = try own.findings().first { return "the check finds \(finding)" }
        return try difference(expected, own, own.newContext(), deletes: false, &random).map { "saved: " + $0 }
    }

    private func save(_ context: ManagedObjectContext, _ root: ManagedObjectContext) throws {
        try context.save()
        if context !== root { try root.save() }
    }

    /// The first difference between what a context shows and what is left, whatever is asked first.
    ///
    /// - Parameter deletes: whether the deletions are those of the context.
    private func difference(
        _ expected: Rest, _ grove: Grove, _ context: ManagedObjectContext, deletes: Bool,
        _ random: inout SeededGenerator
    ) throws -> String? {
        for part in [0, 1, 2].shuffled(using: &random) {
            let found: String?
            switch part {
            case 0: found = try differenceOfAnswers(expected, context, &random)
            case 1: found = try differenceOfObjects(expected, grove, context, &random)
            default: found = differenceOfDeletions(expected, grove, context, deletes: deletes)
            }
            if let found { return found }
        }
        return nil
    }

    private func differenceOfAnswers(
        _ expected: Rest, _ context: ManagedObjectContext, _ random: inout SeededGenerator
    ) throws -> String? {
        for index in questions.indices.shuffled(using: &random) {
            let answer = try questions[index].answer(context)
            guard answer != expected.answers[index] else { continue }
            return "\(questions[index].text): \(answer), expected is \(expected.answers[index])"
        }
        return nil
    }

    private func differenceOfObjects(
        _ expected: Rest, _ grove: Grove, _ context: ManagedObjectContext, _ random: inout SeededGenerator
    ) throws -> String? {
        for name in grove.ids.keys.sorted().shuffled(using: &random) {
            guard let id = grove.ids[name] else { continue }
            guard let destinations = expected.destinations[name] else {
                guard case .objectNotFound? = contextError({ _ = try context.existingObject(with: id) }) else {
                    return "\(name) is deleted, and is found"
                }
                continue
            }
            // A fault that was made without asking, or an object with its values.
            let object =
                try Bool.random(using: &random) ? context.object(with: id) : context.existingObject(with: id)
            let shown = try grove.destinations(of: object, in: context)
            if shown != destinations { return "\(name) leads to \(shown), expected is \(destinations)" }
            for (path, names) in destinations {
                let value = try object.value(forKey: path)
                guard value.groveNames.sorted() == names.sorted() else {
                    return "\(name).\(path) is \(value.groveNames), expected is \(names)"
                }
            }
            if object.isDeleted || object.groveName != name { return "\(name) is deleted, or reads as another one" }
        }
        return nil
    }

    /// The deleted objects of a context are those that are not left, if it has deleted them.
    private func differenceOfDeletions(
        _ expected: Rest, _ grove: Grove, _ context: ManagedObjectContext, deletes: Bool
    ) -> String? {
        let deleted = Set(context.deletedObjects.compactMap { grove.names[$0.objectID] })
        let gone = deletes ? Set(grove.ids.keys).subtracting(expected.destinations.keys) : []
        return deleted == gone ? nil : "deleted objects are \(deleted.sorted()), expected are \(gone.sorted())"
    }
}

extension PropertyValue {
    /// The names of the destinations.
    fileprivate var groveNames: [String] {
        switch self {
        case .attribute: []
        case .toOne(let object): object.map { [$0.groveName] } ?? []
        case .toMany(let objects): objects.map(\.groveName)
        }
    }
}
