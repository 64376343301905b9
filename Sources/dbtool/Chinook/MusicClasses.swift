// The music half of the Chinook library as typed classes: artists, albums, tracks and their groupings.
//
// Chinook's table PlaylistTrack has no class: it is the many-to-many relationship between `Playlist` and `Track`.

import Espalier
import EspalierModel
import Foundation

/// An artist; 71 artists of the library have no album.
@Entity final class Artist: ManagedObject {
    @Attribute(.unique) var artistID: Int
    @Attribute(.indexed) var name: String?
    @Relationship(deleteRule: .cascade) var albums: ToMany<Album>
}

/// A record by one artist.
@Entity final class Album: ManagedObject {
    @Attribute(.unique) var albumID: Int
    var title: String
    @Relationship(inverse: \Artist.albums, isRequired: true) var artist: Artist?
    var tracks: ToMany<Track>
}

/// A piece of music or film, which is the unit of sale.
@Entity final class Track: ManagedObject {
    @Attribute(.unique) var trackID: Int
    @Attribute(.indexed) var name: String
    var composer: String?
    var milliseconds: Int
    var bytes: Int?
    var unitPrice: Decimal
    @Relationship(inverse: \Album.tracks) var album: Album?
    @Relationship(inverse: \Genre.tracks) var genre: Genre?
    @Relationship(inverse: \MediaType.tracks, isRequired: true) var mediaType: MediaType?
    @Relationship(inverse: \Playlist.tracks) var playlists: ToMany<Playlist>
    @Relationship(deleteRule: .deny) var invoiceLines: ToMany<InvoiceLine>
}

/// A kind of music.
@Entity final class Genre: ManagedObject {
    @Attribute(.unique) var genreID: Int
    @Attribute(.indexed) var name: String?
    var tracks: ToMany<Track>
}

/// A kind of file.
@Entity final class MediaType: ManagedObject {
    @Attribute(.unique) var mediaTypeID: Int
    var name: String?
    @Relationship(deleteRule: .deny) var tracks: ToMany<Track>
}

/// A selection of tracks; a track may be in many.
@Entity final class Playlist: ManagedObject {
    @Attribute(.unique) var playlistID: Int
    var name: String?
    var tracks: ToMany<Track>
}
