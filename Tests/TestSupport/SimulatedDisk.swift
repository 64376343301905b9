// The content of a simulated disk: the bytes of each file that a power loss spares, and the writes since its last sync.
//
// The model is ALICE's (Pillai et al., OSDI 2014): a power loss may keep, lose or tear at any byte every write that no
// sync covers, or replace it by garbage within its own range, in any order. Sizes and names survive independently of
// data.
//
// Invariants
//   1. `durable` holds the bytes that certainly survive; `current` holds the bytes that a process reads.
//   2. Changes of names that no sync of the directory covers survive in any subset and order: each name refers to the
//      file that it had, or to the file that any one of its changes gave it. A rename is two such changes, as on
//      systems that implement it by link and unlink.
//   3. A disk is a value: a crash makes another disk from it and leaves this one unchanged.

/// A simulated disk: names and files.
struct SimulatedDisk: Sendable {
    /// A change of a file that no sync has made durable yet.
    enum Change: Sendable {
        case write(offset: Int, bytes: [UInt8])
        case resize(byteCount: Int)
    }

    /// A change of the directory that no sync has made durable yet.
    enum NameChange: Sendable {
        case add(String, file: Int)
        case rename(String, to: String, file: Int)
        case remove(String)

        /// The names that this change affects, each with its file after the change; `nil`: the name is removed.
        var entries: [(name: String, file: Int?)] {
            switch self {
            case .add(let name, let file): [(name, file)]
            case .rename(let name, let newName, let file): [(name, nil), (newName, file)]
            case .remove(let name): [(name, nil)]
            }
        }
    }

    struct File: Sendable {
        var current: [UInt8] = []
        var durable: [UInt8] = []
        var changes: [Change] = []
    }

    var files: [File] = []
    var names: [String: Int] = [:]
    var durableNames: [String: Int] = [:]
    var nameChanges: [NameChange] = []

    // MARK: Calls of a process

    mutating func create(_ name: String) -> Int {
        files.append(File())
        names[name] = files.count - 1
        nameChanges.append(.add(name, file: files.count - 1))
        return files.count - 1
    }

    mutating func rename(_ name: String, to newName: String) -> Bool {
        guard let file = names[name] else { return false }
        // If both names refer to one file, a rename leaves both, as POSIX requires.
        if names[newName] == file { return true }
        names[name] = nil
        names[newName] = file
        nameChanges.append(.rename(name, to: newName, file: file))
        return true
    }

    mutating func remove(_ name: String) -> Bool {
        guard names.removeValue(forKey: name) != nil else { return false }
        nameChanges.append(.remove(name))
        return true
    }

    mutating func write(_ bytes: [UInt8], to file: Int, at offset: Int) {
        Self.apply(.write(offset: offset, bytes: bytes), to: &files[file].current)
        files[file].changes.append(.write(offset: offset, bytes: bytes))
    }

    mutating func resize(_ file: Int, to byteCount: Int) {
        Self.apply(.resize(byteCount: byteCount), to: &files[file].current)
        files[file].changes.append(.resize(byteCount: byteCount))
    }

    mutating func sync(_ file: Int) {
        // Do not copy `current`: it has changes that a failed sync forgot, and those stay lost.
        for change in files[file].changes { Self.apply(change, to: &files[file].durable) }
        files[file].changes.removeAll()
    }

    /// Fails a sync as Linux does: the kernel marks the changed pages as clean and never writes them, but the process
    /// still reads them.
    mutating func failSync(_ file: Int) { files[file].changes.removeAll() }

    mutating func syncNames() {
        durableNames = names
        nameChanges.removeAll()
    }

    // MARK: Power loss

    /// The disk after a power loss; `chance` decides which changes that were not synced survive.
    func afterPowerLoss(_ chance: inout SeededGenerator) -> SimulatedDisk {
        var disk = SimulatedDisk()
        let names = survivingNames(&chance)
        for file in files {
            let survivor = Self.survivor(of: file, &chance)
            disk.files.append(File(current: survivor, durable: survivor))
        }
        (disk.names, disk.durableNames) = (names, names)
        return disk
    }

    private func survivingNames(_ chance: inout SeededGenerator) -> [String: Int] {
        var names = durableNames
        guard !nameChanges.isEmpty else { return names }
        // In half of the power losses the surviving changes keep their order, and a rename is one step.
        if Bool.random(using: &chance) {
            for change in nameChanges where Bool.random(using: &chance) {
                for (name, file) in change.entries { names[name] = file }
            }
            return names
        }
        var values: [String: [Int?]] = [:]
        for (name, file) in nameChanges.flatMap(\.entries) {
            values[name, default: [durableNames[name]]].append(file)
        }
        for name in values.keys.sorted() { names[name] = values[name]?.randomElement(using: &chance) ?? nil }
        return names
    }

    private static func survivor(of file: File, _ chance: inout SeededGenerator) -> [UInt8] {
        guard !file.changes.isEmpty else { return file.durable }
        // Keep nothing, everything, or a mixture: real disks often show the extremes, which random mixtures rarely are.
        let mood = Int.random(in: 0..<8, using: &chance)
        if mood == 0 { return file.durable }
        if mood == 1 { return file.current }
        var bytes = file.durable
        var sizes = [file.durable.count, file.current.count]
        let changes = mood == 2 ? file.changes.shuffled(using: &chance) : file.changes
        for change in changes {
            switch change {
            case .write(let offset, let written):
                let kept = keptPart(of: written, &chance)
                guard !kept.bytes.isEmpty else { continue }
                apply(.write(offset: offset + kept.offset, bytes: kept.bytes), to: &bytes)
                sizes.append(bytes.count)
            case .resize(let byteCount):
                guard Bool.random(using: &chance) else { continue }
                apply(change, to: &bytes)
                sizes.append(byteCount)
            }
        }
        let size = sizes.randomElement(using: &chance) ?? bytes.count
        apply(.resize(byteCount: max(size, min(file.durable.count, file.current.count))), to: &bytes)
        return bytes
    }

    private static func keptPart(
        of bytes: [UInt8], _ chance: inout SeededGenerator
    ) -> (offset: Int, bytes: [UInt8]) {
        guard !bytes.isEmpty else { return (0, []) }
        switch Int.random(in: 0..<10, using: &chance) {
        case 0...3: return (0, bytes)
        case 4...6: return (0, [])
        case 7: return (0, Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &chance))))
        case 8:
            let torn = Int.random(in: 0...bytes.count / 512, using: &chance) * 512
            return Bool.random(using: &chance) ? (0, Array(bytes.prefix(torn))) : (torn, Array(bytes.dropFirst(torn)))
        default:
            let start = Int.random(in: 0..<bytes.count, using: &chance)
            let end = Int.random(in: start...bytes.count, using: &chance)
            return (
                0,
                bytes.indices.map { (start..<end).contains($0) ? UInt8.random(in: 0...255, using: &chance) : bytes[$0] }
            )
        }
    }

    private static func apply(_ change: Change, to bytes: inout [UInt8]) {
        switch change {
        case .write(let offset, let written):
            let end = offset + written.count
            if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
            bytes.replaceSubrange(offset..<end, with: written)
        case .resize(let byteCount):
            if byteCount < bytes.count {
                bytes.removeLast(bytes.count - byteCount)
            } else {
                bytes += [UInt8](repeating: 0, count: byteCount - bytes.count)
            }
        }
    }
}
