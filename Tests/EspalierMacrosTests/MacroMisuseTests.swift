// Misuses of the macros: each has one error, on the line where it stands, that says what would be right; and the fix
// that the compiler offers compiles.

import Testing

@Suite struct MacroMisuseTests {
    /// Checks that the compiler reports exactly the errors that the comments of the source name.
    private func expectFaults(in source: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let snippet = try Snippet("import Espalier\nimport Foundation\n" + source)

        #expect(snippet.isAsExpected, "\(snippet.log)", sourceLocation: sourceLocation)
    }

    @Test func `a class that can be no entity is one error, whatever its properties are`() throws {
        try expectFaults(
            in: """
                @Entity final class Box<Value>: ManagedObject { // error: Box cannot be generic
                    var name: String
                }
                @Entity final class Code: Codable { // error: Code must inherit from ManagedObject
                    var name: String
                }
                @Entity final class Bare { // error: Bare must inherit from ManagedObject
                    var name: String
                }
                @Entity struct Kind {} // error: but this is declared with 'struct'
                @Entity struct Note { var text: String = "" } // error: but this is declared with 'struct'
                @Entity enum Nothing {} // error: but this is declared with 'enum'
                @Entity public enum Level: Int { case low, high } // error: but this is declared with 'enum'
                @Entity actor Worker { var count = 0 } // error: but this is declared with 'actor'
                @Entity protocol Named { var name: String { get } } // error: but this is declared with 'protocol'
                extension Bare {
                    @Attribute(.indexed) var half: Int { 0 } // error: @Attribute belongs on a stored property
                }
                """)
    }

    @Test func `an enum is no entity, also if nothing else in the source is wrong`() throws {
        try expectFaults(
            in: """
                @Entity enum Shelf { // error: but this is declared with 'enum'
                    case low, high

                    var isLow: Bool { self == .low }
                }
                """)
    }

    @Test func `a superclass that is no entity is an error in words at the class`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            class Base {}
            class Plain: ManagedObject {}
            @Entity final class Track: Base {
                var name: String
            }
            @Entity final class Album: Plain {
                var title: String
            }
            """)
        let words = snippet.faults.filter { $0.text.contains("a class with @Entity inherits from ManagedObject") }

        // The compiler puts what a macro adds to a class at the end of the class, and notes the macro on its line. It
        // adds that nothing is overridden: macros cannot see what a superclass has.
        #expect(words.map(\.line) == [6], "\(snippet.log)")
        #expect(snippet.faults.allSatisfy { $0.line < 7 }, "\(snippet.log)")
    }

    @Test func `a property that is no property of the model is one error, also if it has no value`() throws {
        try expectFaults(
            in: """
                @Entity final class Track: ManagedObject {
                    let a: Int // error: a is a property of the model and must be a 'var'
                    var b: Int, c: Int // error: declare one property of the model in each 'var'
                    var d: Int { didSet {} } // error: a property of the model cannot have observers
                    var (e, f): (Int, Int) // error: declare one property of the model in each 'var'
                    unowned var g: Track // error: g is a property of the model and cannot be 'unowned'
                    @NSManaged var h: Int // error: h needs no @NSManaged
                    var i: any Codable // error: i is 'any Codable', which stands for values of several types
                    var j: (any Sendable)? // error: j is '(any Sendable)?', which stands for values of several
                    override static var entityName: String { "Song" } // error: @Entity declares 'entityName' itself
                }
                @Entity final class Album: ManagedObject {
                    let a: Int // error: a is a property of the model and must be a 'var'
                    convenience init(context: ManagedObjectContext, name: String) { self.init(context: context) }
                }
                """)
    }

    @Test func `an argument of a wrong type is reported by the compiler, and not once more in the expansion`() throws {
        try expectFaults(
            in: #"""
                @Entity(isAbstract: "yes") final class Loud: ManagedObject {} // error: cannot convert value of type
                @Entity(originalName: 5) final class Named: ManagedObject {} // error: cannot convert value of type
                @Entity(indexes: "a") final class Listed: ManagedObject {} // error: cannot convert value of type
                @Entity final class Track: ManagedObject {
                    @Attribute(.indexd) var a: String // error: has no member 'indexd'
                    @Attribute("b") var b: String // error: cannot convert value of type
                    @Attribute(.maximumLenght(80)) var c: String // error: has no member 'maximumLenght'
                    @Attribute(.maximumLength("80")) var d: String // error: cannot convert value of type
                    @Attribute(.maximumLength()) var e: String // error: missing argument
                    @Attribute(.pattern(5)) var f: String // error: cannot convert value of type
                    @Attribute(.unique(onConflict: .upsert)) var g: String // error: has no member 'upsert'
                    @Attribute(originalName: 5) var h: String // error: cannot convert value of type
                    @Relationship(deleteRule: .casade) var i: Track? // error: has no member 'casade'
                    @Relationship(minimum: "1") var j: Set<Track> // error: cannot convert value of type
                    @Relationship(isRequired: 1) var k: Track? // error: cannot be used as a boolean
                    @Attribute(.transformable(by: 5)) var l: Int? // error: cannot convert value of type
                    @Attribute(.derived(5)) var m: Int // error: cannot convert value of type
                    @Attribute(.minimum(1, mesage: "x")) var n: Int // error: incorrect argument label
                    @Attribute(.minimum()) var o: Int // error: missing argument
                    @FetchedProperty(where: 5) var p: [Track] // error: cannot convert value of type
                    @FetchedProperty(limit: "3") var q: [Track] // error: cannot convert value of type
                    @Relationship("r") var r: Track? // error: missing argument label 'inverse:'
                    @Transient(5) var s: Int // error: takes no arguments
                    #Index<Track>([\.a], where: 5) // error: cannot convert value of type
                    #Unique<Track>([\.a], onConflict: 5) // error: cannot convert value of type
                }
                """#)
    }

    @Test func `a mark that does not fit its property is an error there`() throws {
        try expectFaults(
            in: """
                typealias Label = String
                @Entity class Album: ManagedObject {
                    @Attribute(.indexed) var artist: Album? // error: this is a relationship: write @Relationship
                    @Transient var best: Set<Album> // error: this is a relationship: write @Relationship
                    @Attribute(originalName: "x") var list: [Album] // error: this is a relationship: write
                    @Attribute(.unique) var songs: ToMany<Album> // error: songs is a relationship, and
                    @Relationship(deleteRule: .deny) var label: Label // error: this is an attribute: write @Attribute
                    @Attribute(.indexed) @Attribute(.unique) var code: String // error: code has @Attribute already
                    @Transient @Attribute(.indexed) var note: String // error: and it cannot be 'indexed'
                    @Transient @Attribute(.unique) var mark: String // error: and it cannot be 'unique'
                    @Attribute(.indexed) func play() {} // error: @Attribute belongs on a stored property
                    @Attribute(.indexed) var size: Label
                    @Attribute(.indexed) var year: Optional<Int>
                    @Attribute(hashModifier: "2") var tags: [String] = []
                    @Relationship(isRequired: true) var next: Album?
                }
                @Entity final class Live: Album {
                    override var code: String // error: code is a property of the superclass's entity already
                }
                """)
    }

    @Test func `a fetched property that is no list of entities, and a list of no entities, are errors at the type`()
        throws
    {
        let snippet = try Snippet(
            """
            import Espalier
            typealias Albums = [Album]
            @Entity final class Album: ManagedObject {
                @FetchedProperty(where: "year > 0") var alias: Albums // error: the type that a typealias stands for
                @FetchedProperty(where: "year > 0") var maybe: [Album]? // error: maybe is a fetched property, whose
                @FetchedProperty(where: "year > 0") var long: Array<Album>
                @FetchedProperty(where: "year > 0") var one: Album? // error: one is a fetched property, whose type is
                @FetchedProperty(where: "year > 0") var all: Set<Album> // error: all is a fetched property, whose type
                @FetchedProperty(where: "year > 0") var texts: [String] // error: texts is a fetched property, whose
                @FetchedProperty(where: "year > 0") var right: [Album]
                var year: Int
            }
            """)

        #expect(snippet.isAsExpected, "\(snippet.log)")
        for name in ["one", "all", "maybe"] {
            #expect(snippet.fixed.contains("var \(name): [Album] //"), "\(name): \(snippet.fixed)")
        }
        let names = try Snippet(
            """
            import Espalier
            @Entity final class Album: ManagedObject {
                var names: ToMany<String>
            }
            """)
        #expect(names.faults.contains { $0.line == 3 && $0.text.contains("write '[String]'") }, "\(names.log)")
        #expect(names.faults.allSatisfy { $0.line == 3 }, "\(names.log)")
    }

    @Test func `a default that is not of the property's type is reported by the compiler alone`() throws {
        try expectFaults(
            in: """
                @Entity final class Track: ManagedObject {
                    var name: String = 5 // error: cannot convert value of type 'Int'
                    var note: String = nil // error: 'nil' cannot initialize specified type 'String'
                    var plays: Int = 1.5 // error: cannot convert value of type 'Double'
                    var isLive: Bool = 0 // error: cannot be used as a boolean
                    var made: Date = "today" // error: cannot convert value of type 'String'
                    var price: Decimal = 1
                    var rating: Optional<Int> = nil
                    var comment: String? = nil
                }
                """)
    }

    @Test func `a derived attribute with a default, or with a path that the macro cannot read, is an error`() throws {
        try expectFaults(
            in: #"""
                @Entity final class Album: ManagedObject {
                    @Attribute(.derived(.count(of: \Album.tracks))) var size: Int = 1 // error: size is derived
                    @Attribute(.derived(.now)) var saved: Date? = nil // error: saved is derived and has no default
                    @Attribute(.derived(.value(of: \Album.tags[0]))) var tag: String // error: write the path as a key
                    @Attribute(.derived(.value(of: Album.path))) var copy: String // error: write the path as a key path
                    @Attribute(.derived(.canonical(of: \Album.title))) var key: String
                    @Attribute(.derived(.count(of: \Album.tracks, where: "plays > 0"))) var played: Int
                    var title: String
                    var tags: [String] = []
                    var tracks: Set<Track>
                    static var path: KeyPath<Album, String> { \Album.title }
                }
                @Entity final class Track: ManagedObject {
                    var plays: Int
                    var album: Album?
                }
                """#)
    }

    @Test func `an element that no composite can have is one error, which says what one can`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            enum Medium: String { case vinyl, file }
            @Composite struct Place {
                var shape: (Int, Int)
                var tags: [String] = []
                var medium: Medium
                var city: String = 5
                var side: Medium = .vinyl
                var name: String?
            }
            """)

        let unsupported = snippet.faults.filter { $0.text.contains("an element of a composite is") }
        #expect(unsupported.count == 2, "\(snippet.log)")
        #expect(snippet.faults.count == 3, "\(snippet.log)")
    }
}
