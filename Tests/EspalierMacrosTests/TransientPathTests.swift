// Key paths of transient properties: they name values in memory, in every call that takes the key path of a property,
// and requests to stores refuse them by name.

import Espalier
import Foundation
import Observation
import Synchronization
import TestSupport
import Testing

@Suite struct TransientPathTests {
    private func context() throws -> ManagedObjectContext {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: [Flashcard.self]))
        try coordinator.addPersistentStore(.inMemory)
        return ManagedObjectContext(coordinator)
    }

    private func card(_ title: String, in context: ManagedObjectContext) -> Flashcard {
        let card = Flashcard(context: context)
        card.title = title
        return card
    }

    /// The text of the error that `body` throws.
    private func problem(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    @Test func `values and changes of a transient property are read and set by its key path (MO-40)`() throws {
        let context = try context()
        let (card, untouched) = (card("one", in: context), Flashcard(context: context))
        try context.save()
        #expect(card.score == 5 && untouched.score == 5, "a save has taken the default value of a transient property")
        context.recordsChangesOfEvent = true
        context.undoManager = UndoStack()

        card.mood = "calm"

        #expect(Flashcard.propertyName(of: \.mood) == "mood")
        #expect(try card.isChangedInEvent(\.mood) && !card.isChangedInEvent(\.score))
        // No store has a value of it, to which it could be compared.
        let committed = try card.committedValue(of: \.mood)
        #expect(try committed == nil && !card.isChanged(\.mood))
        let (mood, score) = (try card.primitiveValue(of: \.mood), try card.primitiveValue(of: \.score))
        #expect(mood == "calm" && score == 5)
        context.processPendingChanges()
        try card.willChangeValue(for: \.mood)
        try card.setPrimitiveValue("loud", for: \.mood)
        try card.didChangeValue(for: \.mood)
        #expect(card.mood == "loud")
        try context.undo()
        #expect(card.mood == "calm")
    }

    @Test func `a transient property is checked and observed by its key path (MO-37, MO-40, MO-41)`() throws {
        let context = try context()
        let card = card("one", in: context)
        var mood: String? = "bad"
        let thrown = #expect(throws: ContextError.self) { try card.validateValue(&mood, for: \.mood) }
        let error = try #require(thrown)
        #expect(card.violations(of: \.mood, in: error).count == 1 && mood == "bad")
        mood = "BAD"
        try card.validateValue(&mood, for: \.mood)
        #expect(mood == "bad?" && card.mood == nil)

        card.mood = "bad"
        let refused = #expect(throws: ContextError.self) { try context.save() }
        let violations = card.violations(of: \.mood, in: try #require(refused, "a bad mood was saved"))
        #expect(violations.count == 1 && violations.first?.underlying is Flashcard.BadMood)
        let own = card.violation(at: \.mood, value: "bad", message: "the mood is bad")
        #expect(own.property == "mood")

        context.isObservable = true
        let calls = CallCount()
        withObservationTracking {
            _ = card.mood
        } onChange: {
            calls.value.add(1, ordering: .relaxed)
        }
        card.score = 6
        #expect(calls.value.load(ordering: .relaxed) == 0)
        card.mood = "calm"
        #expect(calls.value.load(ordering: .relaxed) == 1)
        try context.save()
    }

    @Test func `conditions and orders of objects in memory read transient properties (PR-12, FR-26, MO-40)`() throws {
        let seed = testSeed(default: 44_100)
        var chance = SeededGenerator(seed: seed)
        let context = try context()
        var cards: [Flashcard] = []
        for number in 0..<24 {
            let card = card("\(number)", in: context)
            cards.append(card)
            if Int.random(in: 0..<3, using: &chance) > 0 { card.next = cards.randomElement(using: &chance) }
            // Half of them have unsaved values only.
            if number == 11 { try context.save() }
        }
        for card in cards {
            card.mood = [nil, "calm", "loud", "Loud"].randomElement(using: &chance) ?? nil
            card.score = Int.random(in: 0..<4, using: &chance)
        }

        let loud = try FetchPredicate(#Predicate<Flashcard> { $0.mood == "loud" && $0.score > 1 })
        #expect(try cards.filter(loud) == cards.filter { $0.mood == "loud" && $0.score > 1 }, "seed \(seed)")
        let afterLoud = try FetchPredicate(#Predicate<Flashcard> { $0.next?.mood == "loud" })
        #expect(try cards.filter(afterLoud) == cards.filter { $0.next?.mood == "loud" }, "seed \(seed)")
        let named = try FetchPredicate(format: "mood ==[c] 'LOUD' AND title != '3'")
        let expected = cards.filter { ["loud", "Loud"].contains($0.mood) && $0.title != "3" }
        #expect(try cards.filter(named) == expected, "seed \(seed)")
        #expect(try cards[0].matches(loud) == (cards[0].mood == "loud" && cards[0].score > 1), "seed \(seed)")

        let shuffled = cards.shuffled(using: &chance)
        let byMood = try shuffled.sorted(by: [
            TypedSortKey(\.next?.mood), TypedSortKey(\.mood, order: .reverse), TypedSortKey(\.score),
        ])
        func key(_ card: Flashcard) -> [Int] {
            let moods = [nil, "Loud", "calm", "loud"]
            let place = moods.firstIndex(of: card.next?.mood) ?? -1
            return [place, -(moods.firstIndex(of: card.mood) ?? -1), card.score, Int(card.title) ?? -1]
        }
        #expect(byMood == shuffled.sorted { key($0).lexicographicallyPrecedes(key($1)) }, "seed \(seed)")
        let byName = try shuffled.sorted(by: [SortKey("score", ascending: false), SortKey("title")])
        #expect(byName.map(\.score) == cards.map(\.score).sorted(by: >), "seed \(seed)")
        #expect(try [Flashcard]().sorted(by: [SortKey("unknown")]).isEmpty)
        let unknown = problem { _ = try shuffled.sorted(by: [SortKey("unknown")]) }
        #expect(unknown.contains("unknown"), "\(unknown)")
        let computed = problem { _ = try shuffled.sorted(by: [TypedSortKey(\.double)]) }
        #expect(computed.contains("TransientPathTests.swift") && computed.contains("computed"), "\(computed)")
    }

    @Test func `only a condition or an order by a transient property fires a fault, whose hook may set it (PR-12)`()
        throws
    {
        let context = try context()
        let card = card("one", in: context)
        try context.save()
        let reader = ManagedObjectContext(context.persistentStoreCoordinator)
        let fault = try reader.object(with: card.ref)
        let hasTitle = try FetchPredicate(#Predicate<Flashcard> { $0.title == "one" })
        let isFetched = try FetchPredicate(#Predicate<Flashcard> { $0.mood == "fetched" })

        #expect(try fault.matches(hasTitle) && [fault].sorted(by: [TypedSortKey(\.title)]) == [fault])
        #expect(fault.isFault)
        #expect(try fault.matches(isFetched) && !fault.isFault)
        #expect(try !card.matches(isFetched))
    }

    @Test func `transient properties take nothing from the search for a chain of stored ones`() throws {
        // 340 chains of up to four steps are continued: with all of the 17 properties these are more key paths than the
        // search for a chain composes, and with the 5 stored ones fewer.
        let request = try FetchRequest<Crossing>(sortBy: [TypedSortKey(\.west?.west?.west?.west?.name)])
        #expect(request.sortKeys == [SortKey("west.west.west.west.name")])
    }

    @Test func `requests to stores refuse a transient property by name, reason and place (PX-02, PX-10)`() throws {
        let context = try context()
        let asked = FetchRequest<Flashcard>(try FetchPredicate(#Predicate<Flashcard> { $0.mood == "calm" }))
        var request = try BatchUpdateRequest(Flashcard.self)
        try request.set(\Flashcard.mood, to: "calm")
        let update = request
        let calls: [(part: String, hasPlace: Bool, call: () throws -> Void)] = [
            (
                "'Flashcard.mood'", true,
                { _ = try FetchRequest<Flashcard>(predicate: #Predicate { $0.mood == "calm" }) }
            ),
            (
                "'Flashcard.mood'", true,
                { _ = try BatchUpdateRequest(Flashcard.self, where: #Predicate { $0.next?.mood == "calm" }) }
            ),
            (
                "'Flashcard.mood'", true,
                { _ = try context.delete(Flashcard.self, where: #Predicate { $0.mood == "calm" }) }
            ),
            ("'mood'", true, { _ = try FetchRequest<Flashcard>(sortBy: [TypedSortKey(\.mood)]) }),
            ("'next.mood'", true, { _ = try FetchRequest<Flashcard>(sortBy: [TypedSortKey(\.next?.mood)]) }),
            ("'mood'", true, { _ = try FetchRequest<Flashcard>(sortBy: [], prefetching: [\.mood]) }),
            ("'mood'", true, { _ = try context.fetch(FetchRequest<Flashcard>(), TypedColumn(\Flashcard.mood)) }),
            ("'Flashcard.mood'", false, { _ = try context.fetch(asked) }),
            ("'Flashcard.mood'", false, { _ = try context.count(for: asked) }),
            ("Flashcard.mood", false, { _ = try context.execute(update) }),
        ]
        for (number, (part, hasPlace, call)) in calls.enumerated() {
            let text = problem(call)
            #expect(text.contains(part) && text.contains("transient"), "\(number): \(text)")
            #expect(text.contains("TransientPathTests.swift:") == hasPlace, "\(number): \(text)")
        }
    }

    @Test func `a merge policy may set a transient property by its key path, and has no value of a store (MP-06)`()
        throws
    {
        let context = try context()
        let card = card("one", in: context)
        try context.save()
        let other = ManagedObjectContext(context.persistentStoreCoordinator)
        try other.object(with: card.ref).title = "theirs"
        try other.save()
        (card.title, card.mood) = ("mine", "calm")

        context.mergePolicy = MergePolicy { conflict, _ in
            let sides: MergeSides<String>? = try conflict[\Flashcard.mood]
            var resolution = MergeResolution(.objectTrump)
            resolution[\Flashcard.mood] = sides == nil ? .stored : .mine
            return resolution
        }
        let thrown = #expect(throws: ContextError.self) { try context.save() }
        guard case .refusedResolutions(let refused)? = thrown else {
            Issue.record("\(String(describing: thrown))")
            return
        }
        #expect(refused.map(\.property) == ["mood"] && "\(refused)".contains("transient"), "\(refused)")
        #expect(card.mood == "calm" && card.title == "mine")

        context.mergePolicy = MergePolicy { _, _ in
            var resolution = MergeResolution(.storeTrump)
            resolution.set(\Flashcard.mood, to: "merged")
            return resolution
        }
        try context.save()
        #expect(card.mood == "merged" && card.title == "theirs")
    }
}

/// Counts how often an observer is called.
private final class CallCount: Sendable {
    let value = Atomic(0)
}

@Entity final class Flashcard: ManagedObject {
    var title: String = ""
    @Transient var mood: String?
    @Transient var score: Int = 5
    var next: Flashcard?
    var double: Int { 2 * score }

    struct BadMood: Error {}

    override class var validatedKeys: [String] { Flashcard.propertyNames(of: \.mood) }
    override func validate(_ value: inout PropertyValue, forKey key: String) throws {
        try checkValue(&value, forKey: key, of: \.mood) { mood in
            if mood == "bad" { throw BadMood() }
            if mood == "BAD" { mood = "bad?" }
        }
    }

    override func awakeFromFetch() { mood = "fetched" }
}

/// Four ways lead from each object, so that there are many chains of few steps.
@Entity final class Crossing: ManagedObject {
    var name: String = ""
    var north: Crossing?
    var east: Crossing?
    var south: Crossing?
    var west: Crossing?
    @Transient var toll1: Int = 0
    @Transient var toll2: Int = 0
    @Transient var toll3: Int = 0
    @Transient var toll4: Int = 0
    @Transient var toll5: Int = 0
    @Transient var toll6: Int = 0
    @Transient var toll7: Int = 0
    @Transient var toll8: Int = 0
    @Transient var toll9: Int = 0
    @Transient var toll10: Int = 0
    @Transient var toll11: Int = 0
    @Transient var toll12: Int = 0
}
