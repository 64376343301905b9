// Derived attributes in `withObservationTracking`: it follows changes of the values from which they follow (MO-41).

import Espalier
import EspalierModel
import Observation
import Synchronization
import Testing

@Suite struct DerivedObservationTests {
    /// A zoo with a pen of two animals, and a zoo and a pen without, in an observable context that has saved them.
    private struct Park {
        let stack: Stack
        let zoos: [Zoo]
        let pens: [Pen]
        let animals: [Animal]
        var context: ManagedObjectContext { stack.context }

        init() throws {
            stack = try Stack(.inMemory, classes: [Zoo.self, Pen.self, Animal.self])
            let context = stack.context
            context.isObservable = true
            zoos = ["North", "South"].map { name in
                let zoo = Zoo(context: context)
                zoo.name = name
                return zoo
            }
            pens = (0..<2).map { _ in Pen(context: context) }
            pens[0].zoo = zoos[0]
            animals = [190, 7].map { weight in
                let animal = Animal(context: context)
                animal.weight = weight
                return animal
            }
            for animal in animals { animal.pen = pens[0] }
            try context.save()
            context.undoManager = UndoStack()
        }
    }

    /// A derived attribute that is read, and a change that gives it another value.
    private struct Case {
        let name: String
        let read: (Park) -> Void
        let change: (Park) throws -> Void

        init(_ name: String, _ read: @escaping (Park) -> Void, _ change: @escaping (Park) throws -> Void) {
            (self.name, self.read, self.change) = (name, read, change)
        }
    }

    private static var cases: [Case] {
        [
            Case("a function of an own value", { _ = $0.zoos[0].plainName }, { $0.zoos[0].name = "East" }),
            Case("a value across to-one", { _ = $0.pens[0].zooName }, { $0.zoos[0].name = "East" }),
            Case("the step to a value across to-one", { _ = $0.pens[0].zooName }, { $0.pens[0].zoo = $0.zoos[1] }),
            Case("a count", { _ = $0.zoos[1].penCount }, { $0.pens[1].zoo = $0.zoos[1] }),
            Case("a count that loses one", { _ = $0.zoos[0].penCount }, { $0.pens[0].zoo = nil }),
            Case("a count of an ordered list", { _ = $0.pens[0].animalCount }, { $0.animals[1].pen = nil }),
            Case("a count with a condition", { _ = $0.pens[0].heavyCount }, { $0.animals[1].weight = 300 }),
            Case("a count with a condition that loses one", { _ = $0.pens[0].heavyCount }, { $0.animals[0].pen = nil }),
            Case("a sum", { _ = $0.pens[0].weight }, { $0.animals[1].weight = 8 }),
            Case("a sum of sums", { _ = $0.zoos[0].weight }, { $0.animals[1].weight = 8 }),
            Case("a sum of sums, by a new destination", { _ = $0.zoos[0].weight }, { $0.animals[0].pen = $0.pens[1] }),
            Case("a greatest value", { _ = $0.pens[0].heaviest }, { $0.animals[0].weight = 1 }),
            Case("a value by name", { _ = $0.pens[0][attribute: "weight"] }, { $0.animals[1].weight = 8 }),
            Case("a sum without a deleted one", { _ = $0.pens[0].weight }, { try $0.context.delete($0.animals[0]) }),
        ]
    }

    @Test func `readers of a derived attribute are told when its sources change, by setter and undo`() throws {
        for item in Self.cases {
            let park = try Park()
            #expect(try calls(reading: { item.read(park) }, { try item.change(park) }) == 1, "\(item.name), set")
            let undone = try calls(reading: { item.read(park) }, { try park.context.undo() })
            #expect(undone == 1, "\(item.name), undone")
            #expect(try calls(reading: { item.read(park) }, { park.zoos[1].name = "West" }) == 0, "\(item.name), other")
        }
    }

    @Test func `a save tells readers of the derived values that it writes, and of its time`() throws {
        let park = try Park()
        let (context, pen) = (park.context, park.pens[0])

        pen.title = "Lions"
        #expect(try calls(reading: { _ = pen.changed }, { try context.save() }) == 1)
        park.zoos[1].name = "West"
        #expect(try calls(reading: { _ = pen.changed }, { try context.save() }) == 0)
        let new = Pen(context: context)
        #expect(try calls(reading: { _ = new.changed }, { try context.save() }) == 1)
        #expect(new.changed != nil)
    }

    @Test func `a save notifies readers of a derived value that another context has changed`() throws {
        let park = try Park()
        let other = park.stack.newContext()
        other.isObservable = true
        let theirs = try #require(try other.existingObject(with: park.zoos[1].objectID) as? Zoo)
        theirs.name = "Bears"

        #expect(
            try calls(
                reading: { _ = theirs.penCount },
                {
                    park.pens[1].zoo = park.zoos[1]
                    try park.context.save()
                    try other.save()
                }) == 1)
        #expect(theirs.penCount == 1)
    }

    @Test func `a derived attribute is followed although nothing retains the objects from which it follows`() throws {
        let park = try Park()
        let other = park.stack.newContext()
        other.isObservable = true
        let pen = try #require(try other.existingObject(with: park.pens[0].objectID) as? Pen)
        let change: () throws -> Void = {
            let animal = try #require(try other.existingObject(with: park.animals[1].objectID) as? Animal)
            animal.weight = 8
        }

        #expect(try calls(reading: { _ = pen.weight }, change) == 1)
        #expect(pen.weight == 198)
    }

    @Test func `a read of a derived attribute that is followed loads no object from which it follows`() throws {
        let park = try Park()
        let other = park.stack.newContext()
        other.isObservable = true
        let pen = try #require(try other.existingObject(with: park.pens[0].objectID) as? Pen)

        try other.assertTrips(atMost: 0) { _ = try calls(reading: { _ = pen.weight }, {}) }
    }

    @Test func `changes of several sources in one event notify the readers of each`() throws {
        let park = try Park()
        park.pens[1].zoo = park.zoos[1]
        try park.context.save()
        for zoo in park.zoos { zoo.name = "East" }

        var second = 0
        let first = try calls(
            reading: { _ = park.pens[0].zooName },
            { second = try calls(reading: { _ = park.pens[1].zooName }, { park.context.rollback() }) })

        #expect(first == 1 && second == 1, "\(first) and \(second) calls")
    }

    /// Objects for a closure that runs where they are.
    // SAFETY: `onChange` runs within the change that the test makes, on the same thread.
    private struct Here: @unchecked Sendable {
        let context: ManagedObjectContext
        let zoo: Zoo
    }

    @Test func `an observer may change a source and reset the context, which frees the followed objects`() throws {
        let park = try Park()
        let other = park.stack.newContext()
        (other.isObservable, other.retainsRegisteredObjects) = (true, true)
        let zoo = try #require(try other.existingObject(with: park.zoos[0].objectID) as? Zoo)
        var pen = try other.existingObject(with: park.pens[0].objectID) as? Pen
        weak let freed = pen
        let (here, calls) = (Here(context: other, zoo: zoo), Calls())
        withObservationTracking {
            _ = pen?.zooName
        } onChange: {
            calls.count.add(1, ordering: .relaxed)
            here.zoo.name = "West"
            here.context.reset()
        }
        pen = nil

        zoo.name = "East"

        #expect(calls.count.load(ordering: .relaxed) == 1 && other.registeredObjects.isEmpty)
        #expect(freed == nil, "something retains an object that was followed")
    }

    @Test func `a refresh of many sources makes one pass over the followed objects, and not one for each`() throws {
        func steps(_ count: Int) throws -> Int {
            let stack = try Stack(.inMemory, classes: [Zoo.self, Pen.self, Animal.self])
            let context = stack.context
            context.isObservable = true
            context.retainsRegisteredObjects = true
            let pens = (0..<count).map { number in
                let (zoo, pen) = (Zoo(context: context), Pen(context: context))
                (zoo.name, pen.zoo) = ("Zoo \(number)", zoo)
                return pen
            }
            try context.save()
            var steps = 0
            let told = try calls(
                reading: { for pen in pens { _ = pen.zooName } },
                { steps = StepCount.count { context.refreshAllObjects() }.steps })
            #expect(told == 1, "\(told) calls with \(count) pens")
            return steps
        }

        let (few, many) = (try steps(30), try steps(240))
        #expect(few > 0, "nothing was counted")
        // 8 times as many of each.
        #expect(many < 16 * few, "\(few) steps with few sources, \(many) with many")
    }
}
