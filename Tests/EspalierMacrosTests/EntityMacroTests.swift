// The text of the expansions of `@Entity`, and that both ends of a relationship may be marked.

import Testing

@Suite struct EntityMacroTests {
    /// The text of all expansions of `source`, which must compile.
    private func expansions(
        of source: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        let snippet = try Snippet(source, options: ["-Xfrontend", "-dump-macro-expansions"])

        #expect(snippet.isValid, "\(snippet.log)", sourceLocation: sourceLocation)
        return snippet.log
    }

    @Test func `a property becomes a pair of accessors with its name and index`() throws {
        let text = try expansions(
            of: """
                import Espalier
                @Entity final class Track: ManagedObject {
                    static var count: Int { 0 }
                    var name: String = ""
                    var length: Int { name.count }
                    var `class`: Int?
                }
                func touch(_ track: Track) { (track.name, track.class) = ("", track.length) }
                """)

        for accessors in [("name", 0), ("class", 1)] {
            #expect(
                text.contains(
                    """
                    {
                        get {
                            _get("\(accessors.0)", at: \(accessors.1))
                        }
                        set {
                            _set("\(accessors.0)", at: \(accessors.1), newValue)
                        }
                    }
                    """), "\(text)")
        }
        #expect(!text.contains("\"length\""))
        #expect(!text.contains("\"count\""))
    }

    @Test func `a class lists the key paths of its properties, also for subclasses`() throws {
        let text = try expansions(
            of: """
                import Espalier
                @Entity public class Track: ManagedObject {
                    var name: String = ""
                    @Transient var note: String?
                    var `class`: Int?
                    var length: Int { name.count }
                }
                @Entity final class Bonus: Track {}
                """)

        #expect(
            text.contains(
                #"""
                public override class var _propertyPaths: [_PropertyPath] {
                    _propertyPaths(of: Track.self)
                }

                public class func _propertyPaths<_Root: Track>(
                    of root: _Root.Type
                ) -> [_PropertyPath] {
                    var paths = ManagedObject._propertyPaths(of: root)
                    paths.append(_PropertyPath("name", \_Root.`name`, \_Root?.?.`name`))
                    paths.append(_PropertyPath("note", \_Root.`note`, \_Root?.?.`note`, isTransient: true))
                    paths.append(_PropertyPath("class", \_Root.`class`, \_Root?.?.`class`))
                    return paths
                }
                """#), "\(text)")
        #expect(text.contains("let paths = Track._propertyPaths(of: root)"))
    }

    @Test func `a class describes itself`() throws {
        let text = try expansions(
            of: #"""
                import Espalier
                import Foundation
                @Entity(isAbstract: true, uniquenessConstraints: [["name", "made"]], originalName: "Song")
                public class Track: ManagedObject {
                    @Attribute(.unique, .indexed, originalName: "title") var name: String = "-"
                    @Transient var note: String?
                    var made: (Date)? = nil
                    var price: Decimal
                    @Relationship(inverse: \Album.tracks, isRequired: true) var album: Album?
                    @Relationship(deleteRule: .cascade, minimum: 1, maximum: 9, originalName: "lists")
                    var playlists: [Track] = []
                }
                @Entity final class Album: ManagedObject { var tracks: Set<Track> }
                """#)

        #expect(
            text.contains(
                """
                public override class var entityName: String {
                    "Track"
                }

                public override class var _entityProperties: [_PropertyDescription] {
                    EntityDescription._checkClass(Track.self)
                    return [
                        EntityDescription._property("name", String.self, defaultValue: "-", options: \
                PropertyOptions(isIndexed: true, isUnique: true, renamingIdentifier: "title")),
                        EntityDescription._property("note", String?.self, options: \
                PropertyOptions(isTransient: true)),
                        EntityDescription._property("made", (Date)?.self),
                        EntityDescription._property("price", Decimal.self),
                        EntityDescription._property("album", Album?.self, options: \
                PropertyOptions(inverse: "tracks", isRequired: true)),
                        EntityDescription._property("playlists", [Track].self, defaultValue: [], options: \
                PropertyOptions(deleteRule: .cascade, minCount: 1, maxCount: 9, renamingIdentifier: "lists")),
                    ]
                }

                public override class var entityDescription: EntityDescription {
                    EntityDescription(
                        "Track", isAbstract: true, properties: Self._entityProperties, \
                uniquenessConstraints: [["name", "made"]], renamingIdentifier: "Song")
                }
                """), "\(text)")
        #expect(text.contains(#"override class var entityName: String { "Album" }"#) || text.contains("\"Album\""))
    }

    @Test func `classes in classes, generic spellings, actors and entities without properties compile`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            enum Music {
                @Entity final class Track: ManagedObject { var rating: Optional<Int>; var next: Optional<Music.Track> }
                @Entity class Empty: ManagedObject {}
                @Entity final class Heir: Empty { var all: Swift.Set<Track>; var list: Array<Track> }
                @MainActor @Espalier.Entity final class Isolated: ManagedObject { var name: String = "" }
            }
            private enum Grade: String, CaseIterable, AttributeConvertible { case low, high }
            @Entity fileprivate final class Exam: ManagedObject { var grade: Grade = .high; var before: Grade? }
            """)

        #expect(snippet.isValid, "\(snippet.log)")
    }

    @Test func `one side of a relationship names the inverse, the other may say everything else`() throws {
        let snippet = try Snippet(
            #"""
            import Espalier
            @Entity final class Track: ManagedObject {
                @Relationship(inverse: \Album.tracks, isRequired: true) var album: Album?
            }
            @Entity final class Album: ManagedObject {
                @Relationship(deleteRule: .cascade) var tracks: Set<Track>
            }
            """#)

        #expect(snippet.isValid, "\(snippet.log)")
    }
    @Test func `a live collection is described and read as it is declared`() throws {
        let text = try expansions(
            of: #"""
                import Espalier
                @Entity final class Album: ManagedObject {
                    var tracks: OrderedToMany<Track> = []
                    var tags: Espalier.ToMany<Track>
                }
                @Entity final class Track: ManagedObject {
                    @Relationship(inverse: \Album.tracks) var album: Album?
                }
                func fill(_ album: Album, _ track: Track) {
                    album.tracks.append(track)
                    album.tracks = [track]
                    album.tags.insert(track)
                    album.tags.formUnion(album.tracks)
                    for track in album.tags { print(track, album.tags.count, Set(album.tags), Array(album.tracks)) }
                }
                """#)

        for line in [
            #"EntityDescription._property("tracks", OrderedToMany<Track>.self, defaultValue: []),"#,
            #"EntityDescription._property("tags", (Espalier.ToMany<Track>).self),"#,
        ] {
            #expect(text.contains(line), "\(text)")
        }
    }

    @Test func `a text names the inverse where a key path would be a circle: of itself, and at both ends`() throws {
        let text = try expansions(
            of: #"""
                import Espalier
                @Entity final class Person: ManagedObject {
                    @Relationship(inverse: "friends") var friends: ToMany<Person>
                    @Relationship(inverse: "partner", deleteRule: .deny) var partner: Person?
                    @Relationship(inverse: "rivals") var rivals: Set<Person>
                    @Relationship(inverse: "reports") var boss: Optional<Person>
                    @Relationship(inverse: "boss") var reports: [Person]
                    @Relationship(inverse: "owner") var pets: OrderedToMany<Pet>
                }
                @Entity final class Pet: ManagedObject {
                    @Relationship(inverse: \Person.pets) var owner: Person?
                }
                """#)

        for (name, type, inverse) in [
            ("friends", "ToMany<Person>", "friends"), ("partner", "Person?", "partner"),
            ("rivals", "Set<Person>", "rivals"), ("boss", "Optional<Person>", "reports"),
            ("reports", "[Person]", "boss"), ("pets", "OrderedToMany<Pet>", "owner"),
        ] {
            let call = "EntityDescription._property(\"\(name)\", \(type).self, options: PropertyOptions(inverse: "
            #expect(text.contains("\(call)\"\(inverse)\""), "\(text)")
        }
        #expect(text.contains(#"PropertyOptions(inverse: "pets")"#), "\(text)")
    }
}
