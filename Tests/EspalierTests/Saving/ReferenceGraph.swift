// The music model as plain values, which the random test compares contexts with. Slow, simple and without Espalier.

/// Objects by number; every relationship is kept on one side only.
struct ReferenceGraph: Equatable {
    enum Kind: CaseIterable {
        case artist, album, track, playlist, listener
    }
    struct Node: Equatable {
        let kind: Kind
        var name: String
        var seconds = 180
        /// A number of any width.
        var bytes = 0
        /// The artist of an album, the album of a track, the owner of a playlist.
        var parent: Int?
        /// The tracks of an album, in order.
        var tracks: [Int] = []
        /// The tracks of a playlist.
        var entries: Set<Int> = []
    }

    var nodes: [Int: Node] = [:]
    /// Listeners whose deletion is not saved yet.
    var deletedListeners: Set<Int> = []

    func all(_ kind: Kind) -> [Int] { nodes.filter { $0.value.kind == kind }.keys.sorted() }

    func children(of number: Int, _ kind: Kind) -> [Int] {
        nodes.filter { $0.value.kind == kind && $0.value.parent == number }.keys.sorted()
    }

    mutating func setAlbum(_ album: Int?, ofTrack track: Int) {
        guard nodes[track]?.parent != album else { return }
        if let old = nodes[track]?.parent { nodes[old]?.tracks.removeAll { $0 == track } }
        nodes[track]?.parent = album
        if let album { nodes[album]?.tracks.append(track) }
    }

    mutating func setTracks(_ tracks: [Int], ofAlbum album: Int) {
        for track in nodes[album]?.tracks ?? [] where !tracks.contains(track) { setAlbum(nil, ofTrack: track) }
        for track in tracks { setAlbum(album, ofTrack: track) }
        nodes[album]?.tracks = tracks
    }

    mutating func setAlbums(_ albums: [Int], ofArtist artist: Int) {
        for album in children(of: artist, .album) where !albums.contains(album) { nodes[album]?.parent = nil }
        for album in albums { nodes[album]?.parent = artist }
    }

    /// Deletes by the model's rules: cascade downward, nullify upward and sideways, deny for stored listeners.
    mutating func delete(_ number: Int, isStored: Bool) {
        guard let node = nodes[number] else { return }
        switch node.kind {
        case .artist:
            for album in children(of: number, .album) { delete(album, isStored: isStored) }
        case .album:
            for track in node.tracks { delete(track, isStored: isStored) }
        case .track:
            setAlbum(nil, ofTrack: number)
            for playlist in all(.playlist) { nodes[playlist]?.entries.remove(number) }
        case .playlist:
            break
        case .listener:
            if isStored {
                deletedListeners.insert(number)
            } else {
                for playlist in children(of: number, .playlist) { nodes[playlist]?.parent = nil }
            }
        }
        nodes[number] = nil
    }

    /// Whether a save must succeed: playlists have owners, and no deleted listener has playlists.
    var isValid: Bool {
        all(.playlist).allSatisfy { number in
            guard let owner = nodes[number]?.parent else { return false }
            return nodes[owner] != nil
        }
    }
}
