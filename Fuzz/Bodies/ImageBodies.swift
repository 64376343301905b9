// The bodies whose bytes are files: a store, a log of a fixed store, both.

extension FuzzBody {
    /// The bytes are a store file.
    public static let storeImage = FuzzBody(
        name: "store-image",
        seeds: {
            let files = ImageFixture.files
            return ["empty": files.empty, "closed": files.closed, "open": files.store]
        },
        repair: { bytes in StoreRepair.repair(&bytes) },
        run: { bytes in ImageVisit.visit(store: bytes, log: nil) })

    /// The bytes are the log of a fixed store that was not closed.
    public static let logImage = FuzzBody(
        name: "log-image",
        seeds: { ["log": ImageFixture.files.log] },
        repair: { bytes in LogRepair(store: ImageFixture.files.store)?.repair(&bytes) ?? [0] },
        run: { bytes in ImageVisit.visit(store: ImageFixture.files.store, log: bytes) })

    /// The bytes are a store file and its log; the first four are the length of the store, little-endian.
    public static let both = FuzzBody(
        name: "both",
        seeds: {
            let files = ImageFixture.files
            return ["both": ImagePair(store: files.store, log: files.log).bytes]
        },
        repair: { bytes in
            var pair = ImagePair(bytes)
            let pages = StoreRepair.repair(&pair.store)
            let frames = LogRepair(store: pair.store)?.repair(&pair.log) ?? [0]
            bytes = pair.bytes
            return pages.map { $0 + 4 } + frames.map { $0 + 4 + pair.store.count }
        },
        run: { bytes in
            let pair = ImagePair(bytes)
            ImageVisit.visit(store: pair.store, log: pair.log)
        })
}

/// Two files in one input.
struct ImagePair {
    var store: [UInt8]
    var log: [UInt8]

    init(store: [UInt8], log: [UInt8]) { (self.store, self.log) = (store, log) }

    init(_ bytes: [UInt8]) {
        let count = bytes.prefix(4).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
        let content = bytes.dropFirst(4)
        store = Array(content.prefix(count))
        log = Array(content.dropFirst(count))
    }

    var bytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: store.count >> (8 * $0)) } + store + log }
}
