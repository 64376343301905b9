// Typed classes written by hand, exactly as `@Entity` expands, so that this suite tests the runtime alone.

import Espalier

final class Artist: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Artist",
            properties: [
                EntityDescription._property("name", String.self),
                EntityDescription._property("founded", Int32?.self),
                EntityDescription._property(
                    "albums", Set<Album>.self, options: .init(inverse: "artist", deleteRule: .cascade)),
            ])
    }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var founded: Int32? {
        get { _get("founded", at: 1) }
        set { _set("founded", at: 1, newValue) }
    }
    var albums: Set<Album> {
        get { _get("albums", at: 2) }
        set { _set("albums", at: 2, newValue) }
    }
}

final class Album: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Album",
            properties: [
                EntityDescription._property("title", String.self),
                EntityDescription._property("artist", Artist?.self, options: .init(inverse: "albums")),
                EntityDescription._property(
                    "tracks", [Track].self, options: .init(inverse: "album", deleteRule: .cascade, maxCount: 30)),
            ])
    }
    var title: String {
        get { _get("title", at: 0) }
        set { _set("title", at: 0, newValue) }
    }
    var artist: Artist? {
        get { _get("artist", at: 1) }
        set { _set("artist", at: 1, newValue) }
    }
    var tracks: [Track] {
        get { _get("tracks", at: 2) }
        set { _set("tracks", at: 2, newValue) }
    }
}

enum Medium: String, CaseIterable, AttributeConvertible {
    case file, vinyl
}

class Track: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Track",
            properties: [
                EntityDescription._property("name", String.self),
                EntityDescription._property("seconds", Int16.self, defaultValue: 180),
                EntityDescription._property("medium", Medium.self, defaultValue: .file),
                EntityDescription._property("plays", Int?.self, options: .init(isTransient: true)),
                EntityDescription._property("album", Album?.self, options: .init(inverse: "tracks")),
                EntityDescription._property("playlists", Set<Playlist>.self, options: .init(inverse: "tracks")),
                EntityDescription._property("bytes", Int.self, defaultValue: 0),
            ])
    }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var seconds: Int16 {
        get { _get("seconds", at: 1) }
        set { _set("seconds", at: 1, newValue) }
    }
    var medium: Medium {
        get { _get("medium", at: 2) }
        set { _set("medium", at: 2, newValue) }
    }
    var plays: Int? {
        get { _get("plays", at: 3) }
        set { _set("plays", at: 3, newValue) }
    }
    var album: Album? {
        get { _get("album", at: 4) }
        set { _set("album", at: 4, newValue) }
    }
    var playlists: Set<Playlist> {
        get { _get("playlists", at: 5) }
        set { _set("playlists", at: 5, newValue) }
    }
    var bytes: Int {
        get { _get("bytes", at: 6) }
        set { _set("bytes", at: 6, newValue) }
    }
}

final class LiveTrack: Track {
    override class var entityDescription: EntityDescription {
        EntityDescription("LiveTrack", properties: [EntityDescription._property("venue", String?.self)])
    }
    var venue: String? {
        get { _get("venue", at: 0) }
        set { _set("venue", at: 0, newValue) }
    }
}

final class Playlist: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Playlist",
            properties: [
                EntityDescription._property("name", String.self, options: .init(isUnique: true)),
                EntityDescription._property("tracks", Set<Track>.self, options: .init(inverse: "playlists")),
                EntityDescription._property(
                    "owner", Listener?.self, options: .init(inverse: "playlists", isRequired: true)),
            ])
    }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var tracks: Set<Track> {
        get { _get("tracks", at: 1) }
        set { _set("tracks", at: 1, newValue) }
    }
    var owner: Listener? {
        get { _get("owner", at: 2) }
        set { _set("owner", at: 2, newValue) }
    }
}

final class Listener: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Listener",
            properties: [
                EntityDescription._property("name", String.self),
                EntityDescription._property(
                    "playlists", Set<Playlist>.self, options: .init(inverse: "owner", deleteRule: .deny)),
                EntityDescription._property("partner", Listener?.self, options: .init(inverse: "partner")),
                EntityDescription._property("favourite", Track?.self),
            ])
    }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var playlists: Set<Playlist> {
        get { _get("playlists", at: 1) }
        set { _set("playlists", at: 1, newValue) }
    }
    var partner: Listener? {
        get { _get("partner", at: 2) }
        set { _set("partner", at: 2, newValue) }
    }
    var favourite: Track? {
        get { _get("favourite", at: 3) }
        set { _set("favourite", at: 3, newValue) }
    }
}

/// All classes of the model.
let musicClasses: [ManagedObject.Type] = [
    Artist.self, Album.self, Track.self, LiveTrack.self, Playlist.self, Listener.self,
]
