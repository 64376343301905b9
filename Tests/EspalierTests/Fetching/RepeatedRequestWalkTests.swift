// Requests that are kept, copied, made again and changed, in several contexts and under two models, while the rows grow
// so that other plans are better: each finds what plain copies of the rows say, and what the same request finds when it
// is made for the first time. Also threads that share one request.
//
// `ESPALIER_REPEATED_WALKS` is the number of walks, and `ESPALIER_REPEATED_TURNS` that of the turns of each thread.

import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Espalier

@Suite struct RepeatedRequestWalkTests {
    @Test func `requests that are repeated, shared and changed find what they find when they are made anew`() throws {
        let seed = testSeed(default: 131_740)
        print("ESPALIER_SEED=\(seed)")
        for number in 0..<campaignCount("ESPALIER_REPEATED_WALKS", default: 1) {
            var walk = try RepeatedRequestWalk(seed: seed &+ UInt64(number))
            for _ in 0..<100 where walk.failure == nil { try walk.step() }
            if walk.failure == nil { try walk.finish() }
            guard let failure = walk.failure else { continue }
            Issue.record("seed \(walk.seed): \(failure)\n\(walk.log.suffix(30).joined(separator: "\n"))")
            return
        }
    }

    @Test func `a request that several threads share finds on each the rows of its generation`() throws {
        let board = try ThingBoard(0)
        let seed = testSeed(default: 131_750)
        var random = SeededGenerator(seed: seed)
        try board.grow(by: 40, &random)
        let coordinator = board.coordinator
        let turns = campaignCount("ESPALIER_REPEATED_TURNS", default: 12)
        let request = FetchRequest<ManagedObject>(
            entityName: "Thing", predicate: try FetchPredicate(format: "text BEGINSWITH 'a' AND number > 2"),
            sortKeys: [SortKey("text")])
        let failures = Mutex([String]())

        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            do {
                for turn in 0..<turns {
                    let context = ManagedObjectContext(coordinator)
                    if thread == 0 {
                        for number in 0..<2 * turn {
                            let thing = try context.insertNewObject(forEntityName: "Thing")
                            try thing.setValue(.string(number % 2 == 0 ? "ab" : "b"), forKey: "text")
                            try thing.setValue(.integer(Int64(number)), forKey: "number")
                        }
                        try context.save()
                    } else {
                        var own = request
                        own.fetchLimit = thread == 1 ? 0 : 5
                        let found = try context.fetch(thread == 3 ? own : Self.limited(request, own.fetchLimit))
                        let all = try context.fetch(
                            FetchRequest<ManagedObject>(entityName: "Thing", sortKeys: [SortKey("text")]))
                        let matching = all.filter(Self.matches)
                        let expected = own.fetchLimit > 0 ? Array(matching.prefix(own.fetchLimit)) : matching
                        if found != expected {
                            failures.withLock { $0.append("\(thread), turn \(turn): \(found.count) of \(all.count)") }
                        }
                    }
                }
            } catch {
                failures.withLock { $0.append("thread \(thread): \(error)") }
            }
        }

        #expect(failures.withLock(\.self).isEmpty, "seed \(seed)")
        #expect(try coordinator.knownRequests.resolve(request.terms)?.isRepeated == true)
    }

    private static func limited(
        _ request: FetchRequest<ManagedObject>, _ limit: Int
    ) -> FetchRequest<ManagedObject> {
        var copy = request
        copy.fetchLimit = limit
        return copy
    }

    private static func matches(_ thing: ManagedObject) -> Bool {
        guard case .string(let text) = thing[attribute: "text"], case .integer(let number) = thing[attribute: "number"]
        else { return false }
        return text.hasPrefix("a") && number > 2
    }
}

/// A question about things.
private struct ThingQuestion {
    enum Condition {
        case prefix(String), range(Int, Int), oneOf([Int]), inBox(Int), box(Int), set(over: Int), either(String, Int)
        case bound(String, over: Int)
    }

    var condition: Condition
    var order: [SortKey]
    var limit: Int
    var offset: Int
    var includesSubentities: Bool

    init(_ random: inout SeededGenerator) {
        condition = Self.condition(&random)
        order = Self.order(&random)
        limit = Self.limit(&random)
        offset = Int.random(in: 0..<3, using: &random) == 0 ? Int.random(in: 0..<6, using: &random) : 0
        includesSubentities = Int.random(in: 0..<4, using: &random) > 0
    }

    static func condition(_ random: inout SeededGenerator) -> Condition {
        let number = Int.random(in: 0..<12, using: &random)
        let text = ["a", "ab", "b", "", "c"].randomElement(using: &random) ?? ""
        return switch Int.random(in: 0..<8, using: &random) {
        case 0: .prefix(text)
        case 1: .range(number, number + 4)
        case 2: .oneOf([number, 3, 7])
        case 3: .inBox(number % ThingBoard.boxCount)
        case 4: .box(number % ThingBoard.boxCount)
        case 5: .set(over: number)
        case 6: .either(text, number)
        default: .bound(text, over: number)
        }
    }

    static func order(_ random: inout SeededGenerator) -> [SortKey] {
        let orders = [
            [], [SortKey("text")], [SortKey("text", ascending: false)], [SortKey("number")],
            [SortKey("number"), SortKey("text")], [SortKey("text"), SortKey("number", ascending: false)],
        ]
        return orders.randomElement(using: &random) ?? []
    }

    static func limit(_ random: inout SeededGenerator) -> Int { [0, 0, 3, 10, 50].randomElement(using: &random) ?? 0 }

    /// A predicate for the condition, made anew; `boxes` are those of the first board.
    func predicate(_ boxes: [ObjectID]) throws -> FetchPredicate {
        switch condition {
        case .prefix(let text): return try FetchPredicate(format: "text BEGINSWITH %@", text)
        case .range(let low, let high): return try FetchPredicate(format: "number >= \(low) AND number < \(high)")
        case .oneOf(let numbers): return try FetchPredicate(format: "number IN %@", numbers)
        case .inBox(let box): return try FetchPredicate(format: "box.name == %@", "box \(box)")
        case .box(let box): return try FetchPredicate(format: "box == %@", boxes[box])
        case .set(let least): return try FetchPredicate(format: "flag == YES AND number > \(least)")
        case .either(let text, let number):
            return try FetchPredicate(format: "text BEGINSWITH %@ OR number == %d", text, number)
        case .bound(let text, let least):
            return try FetchPredicate(format: "text BEGINSWITH $TEXT AND number > $LEAST")
                .withSubstitutionVariables(["TEXT": text, "LEAST": least])
        }
    }

    /// The request, made anew.
    func request(_ boxes: [ObjectID]) throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(
            entityName: "Thing", predicate: try predicate(boxes), sortKeys: order)
        (request.fetchLimit, request.fetchOffset) = (limit, offset)
        request.includesSubentities = includesSubentities
        return request
    }

    /// The matching ones of `things` in order; those with equal values stay in the order in which they are given.
    func answer(_ things: [PlainThing], isFirstBoard: Bool) -> [ObjectID] {
        let matching = things.filter { thing in
            (includesSubentities || !thing.isTool) && passes(thing, isFirstBoard: isFirstBoard)
        }
        let sorted = matching.enumerated().sorted { left, right in
            for key in order {
                let name = key.keyPath.components[0]
                let result = left.element.value(name).compare(right.element.value(name))
                if result != .orderedSame { return (result == .orderedAscending) == key.isAscending }
            }
            return left.offset < right.offset
        }
        let ids = sorted.compactMap { $0.element.id }.dropFirst(offset)
        return Array(limit > 0 ? ids.prefix(limit) : ids)
    }

    private func passes(_ thing: PlainThing, isFirstBoard: Bool) -> Bool {
        func begins(_ prefix: String) -> Bool { thing.text?.hasPrefix(prefix) ?? false }
        return switch condition {
        case .prefix(let text): begins(text)
        case .range(let low, let high): thing.number >= low && thing.number < high
        case .oneOf(let numbers): numbers.contains(thing.number)
        case .inBox(let box): thing.box == box
        case .box(let box): isFirstBoard && thing.box == box
        case .set(let least): thing.isSet && thing.number > least
        case .either(let text, let number): begins(text) || thing.number == number
        case .bound(let text, let least): begins(text) && thing.number > least
        }
    }
}

/// Steps of requests that are kept.
private struct RepeatedRequestWalk {
    private struct Kept {
        var question: ThingQuestion
        var request: FetchRequest<ManagedObject>
    }

    let seed: UInt64
    private(set) var failure: String?
    /// The steps so far, for the message of a failure.
    private(set) var log: [String] = []
    private let boards: [ThingBoard]
    /// For each board, contexts that merge what others save.
    private var contexts: [[ManagedObjectContext]]
    private var kept: [Kept] = []
    private var random: SeededGenerator

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        boards = [try ThingBoard(0), try ThingBoard(1)]
        contexts = boards.map { board in (0..<2).map { _ in Self.mergingContext(board) } }
        for _ in 0..<10 {
            let question = ThingQuestion(&random)
            kept.append(Kept(question: question, request: try question.request(boards[0].boxes)))
        }
    }

    private static func mergingContext(_ board: ThingBoard) -> ManagedObjectContext {
        let context = board.newContext()
        context.automaticallyMergesChangesFromParent = true
        return context
    }

    mutating func step() throws {
        let number = Int.random(in: 0..<boards.count, using: &random)
        let board = boards[number]
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<10: try ask(number, Int.random(in: 0..<2, using: &random))
        case 10: try askBesideUnsaved(number)
        case 11:
            let place = Int.random(in: 0..<2, using: &random)
            contexts[number][place] = Self.mergingContext(board)
        case 12..<16: try changeRequest()
        case 16, 17:
            log.append("change board \(number)")
            try board.change(&random)
        default:
            let most = board.things.count > 100 ? 2 : 40
            let count = min([1, 4, max(2, board.things.count)].randomElement(using: &random) ?? 1, most)
            log.append("board \(number) has \(board.things.count) things, and \(count) more")
            try board.grow(by: count, &random)
        }
    }

    /// Changes one part of a kept request, as an application does, or makes another one.
    private mutating func changeRequest() throws {
        let place = Int.random(in: 0..<kept.count, using: &random)
        var changed = kept[place]
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            changed.question.limit = ThingQuestion.limit(&random)
            changed.request.fetchLimit = changed.question.limit
        case 1:
            changed.question.offset = Int.random(in: 0..<6, using: &random)
            changed.request.fetchOffset = changed.question.offset
        case 2:
            changed.question.order = ThingQuestion.order(&random)
            changed.request.sortKeys = changed.question.order
        case 3:
            changed.question.includesSubentities.toggle()
            changed.request.includesSubentities = changed.question.includesSubentities
        case 4:
            changed.question.condition = ThingQuestion.condition(&random)
            changed.request.predicate = try changed.question.predicate(boards[0].boxes)
        default:
            changed.question = ThingQuestion(&random)
            changed.request = try changed.question.request(boards[0].boxes)
        }
        kept[place] = changed
        log.append("request \(place) is \(changed.request)")
    }

    private mutating func ask(_ number: Int, _ contextNumber: Int) throws {
        let place = Int.random(in: 0..<kept.count, using: &random)
        let isFresh = Int.random(in: 0..<3, using: &random) == 0
        let context = isFresh ? boards[number].newContext() : contexts[number][contextNumber]
        try compare(place, number, context, boards[number].things)
    }

    /// Asks a context that has a thing of its own, which no other context sees.
    private mutating func askBesideUnsaved(_ number: Int) throws {
        let (board, context) = (boards[number], contexts[number][0])
        var thing = PlainThing(&random)
        thing.id = try board.insert(thing, context).objectID
        try compare(Int.random(in: 0..<kept.count, using: &random), number, context, board.things + [thing])
        context.rollback()
    }

    private mutating func compare(
        _ place: Int, _ number: Int, _ context: ManagedObjectContext, _ things: [PlainThing]
    ) throws {
        let question = kept[place].question
        let isAnew = Int.random(in: 0..<3, using: &random) == 0
        let request = try isAnew ? question.request(boards[0].boxes) : kept[place].request
        let form = Int.random(in: 0..<3, using: &random)
        log.append("ask board \(number) for request \(place)\(isAnew ? ", made anew" : ""), form \(form)")
        let expected = question.answer(things, isFirstBoard: number == 0)
        var problem: String?
        switch form {
        case 0:
            let ids = try context.fetch(request).map(\.objectID)
            if ids != expected { problem = "\(ids.count) objects" }
        case 1:
            let ids = try context.fetchIDs(request)
            if ids != expected { problem = "\(ids.count) IDs" }
        default:
            let count = try context.count(for: request)
            if count != expected.count { problem = "the number \(count)" }
        }
        if problem == nil, things.count == boards[number].things.count {
            let stranger = boards[number].strangeContext()
            let ids = try stranger.fetchIDs(question.request(boards[0].boxes))
            if ids != expected { problem = "\(ids.count) IDs for the first request of a coordinator" }
        }
        if let problem { failure = "\(problem), not \(expected.count), for \(request) on board \(number)" }
    }

    /// Doubles the things, so that no plan holds, and compares plans with those of requests that are made anew.
    mutating func finish() throws {
        for (number, board) in boards.enumerated() {
            try board.grow(by: max(30, board.things.count), &random)
            var repeatedCount = 0
            for place in kept.indices where failure == nil {
                let context = board.newContext()
                let request = kept[place].request
                for _ in 0..<2 { _ = try context.count(for: request) }
                let terms = request.terms
                if try board.coordinator.knownRequests.resolve(terms)?.isRepeated == true { repeatedCount += 1 }
                try compare(place, number, context, board.things)
                let anew = try board.strangeContext().explain(kept[place].question.request(boards[0].boxes))
                for _ in 0..<2 where failure == nil {
                    let lines = try context.explain(request)
                    if lines != anew { failure = "\(request) is answered by \(lines), not by \(anew)" }
                }
            }
            if failure == nil, repeatedCount < kept.count {
                failure = "\(repeatedCount) of \(kept.count) requests were known"
            }
        }
    }
}
