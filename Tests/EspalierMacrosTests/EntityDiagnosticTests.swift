// The errors of the macros and their places: each error is reported on the line whose comment names it.

import Testing

@Suite struct EntityDiagnosticTests {
    /// Checks that the compiler reports exactly the errors that the comments of the members name.
    private func expectFaults(
        inTrack members: String, and others: String = "", sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let snippet = try Snippet(
            """
            import Espalier
            import Foundation
            @Entity final class Track: ManagedObject {
            \(members)
            }
            @Entity final class Album: ManagedObject { var tracks: Set<Track> }
            \(others)
            """)

        #expect(snippet.isAsExpected, "\(snippet.log)", sourceLocation: sourceLocation)
    }

    @Test func `an entity is a class that inherits`() throws {
        try expectFaults(
            inTrack: "",
            and: """
                @Entity struct Genre {} // error: inherits from ManagedObject, but this is declared with 'struct'
                @Entity final class Invoice {} // error: Invoice must inherit from ManagedObject or from another entity
                """)
    }

    @Test func `a stored property that the model cannot have is rejected where it stands`() throws {
        try expectFaults(
            inTrack: """
                let id: Int = 0 // error: id is a property of the model and must be a 'var'
                var name = "" // error: name needs an explicit type, from which the model is made
                var genre: String! // error: genre cannot be implicitly unwrapped; write '?'
                lazy var length: Int = 0 // error: length is a property of the model and cannot be 'lazy'
                weak var album: Album? // error: album is a property of the model and cannot be 'weak'
                var a: Int = 0, b: Int = 0 // error: declare one property of the model in each 'var'
                var price: Int = 0 { didSet {} } // error: a property of the model cannot have observers; override
                """)
    }

    @Test func `a type that no entity stores is named with those that one does`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            @Entity final class Album: ManagedObject {
                var size: (Int, Int)
                var shape: Shape = Shape()
                var artist: Album
            }
            struct Shape {}
            """)
        let supported =
            "is unavailable: an entity stores AttributeConvertible, RawRepresentable and Codable values or optionals "
            + "of them, and T?, ToMany<T>, OrderedToMany<T>, Set<T>, [T] of entities"
        let optional = "is unavailable: a to-one relationship can be empty in memory: write it as an optional"

        #expect(
            snippet.faults.map(\.description) == [
                "3: '_get(_:at:)' \(supported)", "4: '_get(_:at:unset:)' \(supported)",
                "5: '_get(_:at:)' \(optional)",
            ])
    }

    @Test func `a mark that contradicts its property is an error at the mark`() throws {
        try expectFaults(
            inTrack: #"""
                @Relationship(deleteRule: .cascade) var name: String // error: name is an attribute
                @Relationship @Attribute(.indexed) var album: Album? // error: a relationship and have @Attribute
                @Transient @Relationship var best: Album? // error: cannot be a relationship and have @Transient
                @Attribute(.indexed) static var count: Int { 0 } // error: @Attribute belongs on a stored property;
                @Transient var length: Int { 0 } // error: @Transient belongs on a stored property;
                @Attribute(options) var price: Int // error: write the options as literals such as '.indexed'
                static let options = AttributeOption.indexed
                @Relationship(inverse: \Album.tracks.count) var a: Album? // error: as a key path of one property
                @Relationship(inverse: path) var b: Album? // error: write the inverse as a key path of one property
                static var path: AnyKeyPath { \Album.tracks }
                @Relationship(inverse: 5) var d: Album? // error: write the inverse as a key path of one property
                @Relationship(inverse: "tracks count") var c: Album? // error: or as its name, such as '"tracks"'
                """#,
            and:
                "struct Genre { @Attribute(.unique) var name: String } // error: property of a class with @Entity"
        )
    }

    @Test func `a fetched property with another mark or a default is an error where that stands (FR-24)`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            @Entity final class Album: ManagedObject {
                var title: String
                @FetchedProperty(where: "title == 'a'")
                @Attribute(.indexed)
                var marked: [Album]
                @FetchedProperty(where: "title == 'b'")
                var preset: [Album]
                    = []
            }
            """)
        let faults = snippet.faults.map(\.description)

        #expect(
            faults.contains("5: marked is a fetched property, whose value is never stored: remove @Attribute"),
            "\(snippet.log)")
        #expect(
            faults.contains("9: preset is a fetched property and has no default: its request gives its value"),
            "\(snippet.log)")
    }

    @Test func `an inverse that the destination does not have is an error at the property, however it is named`()
        throws
    {
        let snippet = try Snippet(
            #"""
            import Espalier
            @Entity final class Person: ManagedObject {
                var name: String
                @Relationship(inverse: "frends") var friends: ToMany<Person> // error: has no member 'frends'
                @Relationship(inverse: "bosses", deleteRule: .deny)
                var reports: [Person] // error: has no member 'bosses'
                @Relationship(inverse: \Pet.owner) var house: House? // error: has no member 'owner'
                @Relationship(inverse: "owner") var pets: Set<Pet>
                @Relationship(inverse: \House.people) var home: Optional<House>
                var age: Int
            }
            @Entity final class Pet: ManagedObject {
                var name: String
                var owner: Person?
                @Relationship(inverse: \Person.pest) // error: 'pest'
                var keeper: Person? // error: has no member 'pest'
                var age: Int
            }
            @Entity final class House: ManagedObject {
                @Relationship(inverse: "home") var people: OrderedToMany<Person>
                var size: Int
            }
            """#)

        #expect(snippet.isAsExpected, "\(snippet.log)")
    }

    @Test func `a key path that leads to its own property is an error that says what to write`() throws {
        let snippet = try Snippet(
            #"""
            import Espalier
            @Entity final class Person: ManagedObject {
                @Relationship(inverse: \Person.friends) var friends: ToMany<Person>
            }
            """#)

        #expect(
            snippet.faults.contains {
                $0.line == 3 && $0.text.contains("write the name of the inverse, '\"friends\"'")
            }, "\(snippet.log)")
    }

    @Test func `a default of the moment is an error, since a default belongs to the model`() throws {
        try expectFaults(
            inTrack: """
                var made: Date = Date() // error: the model computes the default of made once
                var seen: Date? = .now // error: the model computes the default of seen once
                var id: UUID = UUID() // error: the model computes the default of id once
                var key: String = UUID().uuidString // error: the model computes the default of key once
                var time: Double = Date.now.timeIntervalSince1970 // error: the model computes the default of time once
                var due: Date = Date.now.addingTimeInterval(60) // error: the model computes the default of due once
                var end: Date = Date(timeIntervalSinceNow: 60) // error: the model computes the default of end once
                var dice: Int = Int.random(in: 1...6) // error: the model computes the default of dice once
                var first: Date = Optional<Date>.none ?? Date() // error: the model computes the default of first once
                var begun: Date = Date(timeIntervalSinceReferenceDate: 0)
                var last: Date = .distantFuture
                var code: UUID = UUID(uuidString: "00000000-0000-0000-0000-000000000001") ?? UUID()
                """)
    }

    @Test func `a property within #if is an error at the property, and at nothing else`() throws {
        try expectFaults(
            inTrack: """
                var name: String
                #if DEBUG
                var note: String // error: note is within #if, so the model would differ from build to build
                #else
                var rating: Int // error: rating is within #if, so the model would differ from build to build
                var half: Int { 0 }
                #endif
                """)
    }

    @Test func `a name that every object has is refused in words`() throws {
        let names = [
            "objectID", "entity", "managedObjectContext", "hasChanges", "isInserted", "isUpdated", "isDeleted",
            "isFault", "faultingState", "hasPersistentChangedValues", "description", "debugDescription", "ref",
            "hashValue", "predicateExpression",
        ]
        let snippet = try Snippet(
            """
            import Espalier
            @Entity final class Track: ManagedObject {
            \(names.map { "var \($0): String" }.joined(separator: "\n"))
            }
            """)

        for (index, name) in names.enumerated() {
            let expected = "\(index + 3): every ManagedObject already has '\(name)'; give the property another name"
            #expect(snippet.faults.map(\.description).contains(expected), "\(snippet.log)")
        }
        #expect(snippet.diagnostics.contains("rename it to 'trackDescription'"))
    }

    @Test func `a fix is offered where there is one`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            @Entity final class Album {}
            @Entity final class Track: ManagedObject {
                let id: Int = 0
                var name = ""
                var milliseconds = 0
                var price = 0.99
                var isLive = false
                var genre: String!
                var cover = [0]
            }
            """, options: ["-diagnostic-style", "llvm"])
        let fixed = snippet.log.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }

        for line in [
            "Album: ManagedObject", "var", "name: String = \"\"", "milliseconds: Int = 0", "price: Double = 0.99",
            "isLive: Bool = false", "String?",
        ] {
            #expect(fixed.contains(line[...]), "\(snippet.log)")
        }
        #expect(snippet.faults.count == 8)
    }
}
