// Entity classes as an application writes them: every kind of property that `@Entity` supports.

import Espalier
import Foundation

enum Medium: String, CaseIterable, AttributeConvertible {
    case file, vinyl
}

@Entity(uniquenessConstraints: [["name", "year"]], originalName: "Performer")
class Artist: ManagedObject {
    @Attribute(.indexed) var name: String = ""
    var year: Int16?
    var albums: [Album]
}

@Entity final class Band: Artist {
    var members: Int = 1
    var singer: Artist?
}

@Entity final class Album: ManagedObject {
    var title: String = "untitled"
    @Relationship(inverse: \Artist.albums, isRequired: true) var artist: Artist?
    @Relationship(deleteRule: .cascade, minimum: 1, maximum: 99) var tracks: Set<Track>
}

@Entity final class Track: ManagedObject {
    @Attribute(.unique, originalName: "title") var name: String = ""
    var seconds: Double = 0.5
    var price: Decimal = 0.99
    var isLive: Bool = true
    var medium: Medium = .vinyl
    var cover: Data?
    var recorded: Date?
    var identifier: UUID?
    var page: URL?
    @Transient var note: String?
    @Relationship(inverse: \Album.tracks) var album: Album?

    var minutes: Double { seconds / 60 }
}
