// Attributes of other types than the plain ones: raw values, `Codable` types, composite structs, and values of
// registered transformers.

import Espalier
import Foundation
import Testing

@Suite struct ConvertedAttributeTests {
    private let container: PersistentContainer
    private let context: ManagedObjectContext

    init() throws {
        container = try PersistentContainer(model: ManagedObjectModel(for: [Parcel.self]), stores: [.inMemory])
        context = ManagedObjectContext(container.persistentStoreCoordinator)
        try AttributeTransformers.register(ColorTransformer(), forName: "Color")
    }

    /// Calls `body` with the only stored parcel, in a context of its own.
    private func withStored(_ body: (Parcel, ManagedObjectContext) throws -> Void) throws {
        let reader = ManagedObjectContext(container.persistentStoreCoordinator)
        try body(try #require(try reader.fetch(FetchRequest<Parcel>()).first), reader)
    }

    private func count(_ format: String, _ arguments: any PredicateArgument...) throws -> Int {
        try context.count(for: FetchRequest<Parcel>(try FetchPredicate(format: format, argumentArray: arguments)))
    }

    @Test func `a new object has the defaults, and an optional has none`() {
        let parcel = Parcel(context: context)

        #expect(parcel.size == .small && parcel.grade == nil && parcel.tags == ["new"] && parcel.marks == nil)
        #expect(parcel.home == Address(street: "", city: "Oslo", zip: nil, kind: .home, place: Place(x: 0, y: 2.5)))
        #expect(parcel.work == nil && parcel.color == nil && parcel.fee == Fee(amount: 5, currency: "NOK"))
        #expect(!parcel.hasPersistentChangedValues)
    }

    @Test func `what is saved is read, and changes within a value are changes of the object`() throws {
        let parcel = Parcel(context: context)
        (parcel.size, parcel.grade, parcel.fee) = (.large, .b, Fee(amount: -0.1, currency: "€"))
        parcel.tags.append("日本")
        parcel.marks = ["a": [1, 2], "b": []]
        parcel.home.street = "Storgata"
        parcel.home.place.x = .infinity
        parcel.work = Address(street: "", zip: 7, kind: .work, place: Place(x: 1, y: .nan))
        parcel.color = Color(red: 1, green: 2, blue: 3)
        try context.save()

        try withStored { stored, _ in
            #expect(stored.size == .large && stored.grade == .b && stored.fee == Fee(amount: -0.1, currency: "€"))
            #expect(stored.tags == ["new", "日本"] && stored.marks == ["a": [1, 2], "b": []])
            #expect(stored.home.street == "Storgata" && stored.home.city == "Oslo" && stored.home.place.x == .infinity)
            #expect(stored.work?.zip == 7 && stored.work?.kind == .work && stored.work?.place.y.isNaN == true)
            #expect(stored.color == Color(red: 1, green: 2, blue: 3))
        }
        parcel.home.city = "Bergen"
        #expect(parcel.hasPersistentChangedValues)
        parcel.home.city = "Oslo"
        #expect(!parcel.hasPersistentChangedValues)
        (parcel.work, parcel.marks, parcel.color, parcel.grade) = (nil, nil, nil, nil)
        try context.save()
        try withStored { stored, _ in
            #expect(stored.work == nil && stored.marks == nil && stored.color == nil && stored.grade == nil)
        }
    }

    @Test func `the form in the store is the documented one`() throws {
        let parcel = Parcel(context: context)
        parcel.marks = ["b": [2], "a": [1]]
        parcel.fee = Fee(amount: .infinity, currency: "a/b")
        parcel.color = Color(red: 1, green: 2, blue: 3)

        #expect(parcel[attribute: "size"] == .string("small") && parcel[attribute: "grade"] == .null)
        #expect(parcel[attribute: "marks"] == .transformable(Data(#"{"a":[1],"b":[2]}"#.utf8)))
        #expect(parcel[attribute: "fee"] == .transformable(Data(#"{"amount":"Infinity","currency":"a/b"}"#.utf8)))
        #expect(parcel[attribute: "color"] == .transformable(Data([1, 2, 3])))
        #expect(
            parcel[attribute: "home"]
                == .composite([
                    "street": .string(""), "city": .string("Oslo"), "kind": .integer(1),
                    "place": .composite(["x": .double(0), "y": .double(2.5)]),
                ]))
        let attributes = Dictionary(
            uniqueKeysWithValues: Parcel.entityDescription.attributes.map { ($0.name, $0) })
        #expect(attributes["fee"]?.valueTransformerName == "Codable" && attributes["fee"]?.isOptional == false)
        #expect(attributes["marks"]?.isOptional == true && attributes["color"]?.valueTransformerName == "Color")
        #expect(attributes["home"]?.elements.map(\.name) == ["street", "city", "zip", "kind", "place"])
        #expect(attributes["home"]?.elements.map(\.isOptional) == [false, false, true, false, false])
    }

    @Test func `predicates reach the elements of a composite and raw values (MD-26)`() throws {
        for (number, size) in [Size.small, .large, .large].enumerated() {
            let parcel = Parcel(context: context)
            (parcel.size, parcel.home.zip, parcel.home.place.x) = (size, number, Double(number))
            parcel.work = number == 1 ? Address(street: "W", kind: .work, place: Place(x: 9)) : nil
        }
        for _ in 0..<2 {
            #expect(try count("size == %@", "large") == 2)
            #expect(try count("home.zip >= 1 AND home.city == 'Oslo'") == 2)
            #expect(try count("home.place.x < 1") == 1 && count("home.kind == 1") == 3)
            #expect(try count("work.street == 'W'") == 1 && count("work == nil") == 2)
            try context.save()
        }
    }

    @Test func `a value that its type does not have reads as the default or nil, and the save reports it`() throws {
        let parcel = Parcel(context: context)
        try parcel.setValue(.string("giant"), forKey: "size")
        try parcel.setValue(.integer(77), forKey: "grade")
        try parcel.setValue(.transformable(Data("[1,".utf8)), forKey: "tags")
        try parcel.setValue(.transformable(Data(repeating: 0x5B, count: 100_000)), forKey: "marks")
        try parcel.setValue(.composite(["kind": .integer(9)]), forKey: "work")
        try parcel.setValue(.transformable(Data([1])), forKey: "color")

        #expect(parcel.size == .small && parcel.grade == nil && parcel.tags == ["new"] && parcel.marks == nil)
        #expect(parcel.work == nil && parcel.color == nil)
        #expect(
            Set(context.recordedViolations.compactMap(\.property))
                == ["size", "grade", "tags", "marks", "work", "color"])
        #expect(throws: ContextError.self) { try context.save() }
    }

    @Test func `a value that cannot be encoded is refused, and the property keeps its value`() throws {
        let parcel = Parcel(context: context)
        parcel.tags = ["kept"]
        parcel.secret = Secret(isOpen: true)
        parcel.secret = Secret(isOpen: false)

        #expect(parcel.secret?.isOpen == true && parcel.tags == ["kept"])
        let violation = try #require(context.recordedViolations.first)
        #expect(violation.property == "secret" && violation.description.contains("'Codable' has failed"))
    }

    @Test func `a transformer that is missing or of another type is an error by its name (MD-24)`() throws {
        let parcel = Parcel(context: context)
        parcel.unknown = Color(red: 0, green: 0, blue: 0)
        parcel.wrong = "text"

        let texts = context.recordedViolations.map(\.description)
        #expect(texts.count == 2 && parcel.unknown == nil && parcel.wrong == nil)
        #expect(texts.first?.contains("no transformer is registered under the name 'Nothing'") == true, "\(texts)")
        #expect(texts.last?.contains("'Color' is for values of type Color, the property has type String") == true)

        try parcel.setValue(.transformable(Data([1, 2, 3])), forKey: "wrong")
        #expect(parcel.wrong == nil)
        for name in ["", "Codable"] {
            #expect(throws: AttributeTransformerError.reservedName(name)) {
                try AttributeTransformers.register(ColorTransformer(), forName: name)
            }
        }
        #expect(AttributeTransformers.names.contains("Color") && AttributeTransformers.transformer(forName: "x") == nil)
    }

    @Test func `undo and rollback restore values of these types`() throws {
        let parcel = Parcel(context: context)
        try context.save()
        context.undoManager = UndoStack()
        parcel.tags = []
        parcel.home.zip = 4
        try context.undo()

        #expect(parcel.tags == ["new"] && parcel.home.zip == nil)

        parcel.fee.amount = 0
        context.rollback()

        #expect(parcel.fee.amount == 5)
    }

    @Test func `a property that may be empty needs a default or a question mark, and says so`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            enum Medium: String { case vinyl, file }
            @Entity final class Track: ManagedObject {
                var medium: Medium // error: give the property a default, such as '= .first', or write it as an optional
                var tags: [String] // error: give the property a default, such as '= []', or write it as an optional
                var cover: [String: Int] = [:]
                var former: Medium?
                @Attribute(.transformable(by: "Text")) var text: Text?
            }
            struct Text {}
            """)

        #expect(snippet.isAsExpected, "\(snippet.log)")
    }

    @Test func `a composite that no model can have is an error where it stands`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            @Composite class Place {} // error: @Composite belongs on a struct, but this is declared with 'class'
            @Composite struct Pair<Value> { var first: Value } // error: a composite struct cannot be generic
            @Composite struct Nothing {} // error: Nothing has no stored property that could be an element
            @Composite struct Size {
                var width = 3 // error: width needs an explicit type, from which the model is made
                lazy var height: Int = 0 // error: height is a property of the model and cannot be 'lazy'
                var (a, b): (Int, Int) // error: declare one property of the model in each 'var'
            }
            @Entity final class Track: ManagedObject {
                @Attribute(.transformable(by: "T")) var text: Int? = 3 // error: text is transformable
            }
            """)

        #expect(snippet.isAsExpected, "\(snippet.log)")
    }
}

enum Size: String { case small, large }

enum Grade: Int, Codable { case a = 10, b = 20 }

struct Fee: Codable, Equatable {
    var amount: Double
    var currency: String
}

/// A value whose encoder refuses some values.
struct Secret: Codable {
    var isOpen: Bool

    func encode(to encoder: any Encoder) throws {
        guard isOpen else { throw CocoaError(.coderInvalidValue) }
        var container = encoder.singleValueContainer()
        try container.encode(["isOpen": isOpen])
    }
}

@Composite struct Place: Equatable {
    var x: Double
    var y: Double = 2.5
}

@Composite struct Address: Equatable {
    enum Kind: Int { case home = 1, work }

    var street: String
    var city: String = "Oslo"
    var zip: Int?
    var kind: Kind = .home
    var place: Place
    let version = 1
    var isComplete: Bool { !street.isEmpty }
}

struct Color: Equatable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8
}

struct ColorTransformer: AttributeTransformer {
    func data(from color: Color) throws -> Data { Data([color.red, color.green, color.blue]) }

    func value(from data: Data) throws -> Color {
        guard data.count == 3 else { throw CocoaError(.coderReadCorrupt) }
        return Color(red: data[0], green: data[1], blue: data[2])
    }
}

@Entity final class Parcel: ManagedObject {
    var size: Size = .small
    var grade: Grade?
    var fee: Fee = Fee(amount: 5, currency: "NOK")
    var tags: [String] = ["new"]
    var marks: [String: [Int]]?
    var secret: Secret?
    var home: Address = Address(street: "", place: Place(x: 0))
    var work: Address?
    @Attribute(.transformable(by: "Color")) var color: Color?
    @Attribute(.transformable(by: "Nothing")) var unknown: Color?
    @Attribute(.transformable(by: "Color")) var wrong: String?
}
