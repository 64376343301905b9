// The new rows of a command: from the rows of its closure to the insertions of a save, chunk by chunk, with the rules
// of the model checked.

internal import EspalierModel

/// Reads new rows in chunks that fit in memory.
struct BatchInsertions {
    private let entity: Entity
    private let next: () throws(StoreError) -> StoreCommand.NewRow?
    /// `nil` if the command does not validate.
    private var rules: BatchRules?
    private let chunkCountMax: Int
    private let progress: BatchProgress?
    private var position = 0
    private var isAtEnd = false

    init(
        _ entity: Entity, of command: StoreCommand, _ model: ManagedObjectModel,
        _ next: @escaping () throws(StoreError) -> StoreCommand.NewRow?
    ) throws(StoreError) {
        guard model.entity(named: entity.name) === entity, !entity.isAbstract else {
            throw .invalidRequest(
                reason: "rows of \(entity.name) cannot be inserted: it is abstract, or not in the store's model")
        }
        (self.entity, self.next) = (entity, next)
        (chunkCountMax, progress) = (command.chunkCountMax, command.progress)
        rules = command.validates ? BatchRules() : nil
    }

    /// The insertions of the next rows; `nil` after the last ones.
    ///
    /// - Parameter isWhole: whether all rows that are left are wanted.
    /// - Throws: `.brokenRules`, `.invalidRequest` for a row of another entity, `.commandCancelled`, the errors of the
    ///   closure.
    mutating func insertions(isWhole: Bool = false) throws(StoreError) -> [SaveRequest.Insertion]? {
        var insertions: [SaveRequest.Insertion] = []
        var (byteCount, broken): (Int, [BrokenRule]) = (0, [])
        while !isAtEnd, isWhole || insertions.count < chunkCountMax && byteCount < IDChunks.byteCountMax {
            if position.isMultiple(of: FetchSteps.stepCountMax) { try progress?.advance(by: 0) }
            guard let new = try next() else {
                isAtEnd = true
                break
            }
            let row = new.content
            guard row.attributeCount == entity.attributes.count,
                row.relationshipCount == entity.relationships.count
            else {
                throw .invalidRequest(reason: "row \(position) does not have the properties of \(entity.name)")
            }
            if rules != nil, broken.count < BatchRules.reportCountMax {
                broken += rules?.broken(row, at: position, of: entity) ?? []
            }
            insertions.append(.init(id: ObjectID(temporaryForEntityTag: entity.tag), new))
            byteCount += row.longByteCount
            position += 1
        }
        assert(isWhole || insertions.count <= chunkCountMax, "\(insertions.count) rows in a chunk of \(chunkCountMax)")
        assert(position >= insertions.count, "\(insertions.count) rows of \(position) that were read")
        guard broken.isEmpty else { throw .brokenRules(broken) }
        return insertions.isEmpty ? nil : insertions
    }
}

extension RowValues {
    /// The number of bytes of long values.
    fileprivate var longByteCount: Int {
        (0..<attributeCount).reduce(0) { sum, slot in
            switch attribute(at: slot) {
            case .string(let text): sum + text.utf8.count
            case .binary(let bytes), .transformable(let bytes): sum + bytes.count
            default: sum
            }
        }
    }
}
