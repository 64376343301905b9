// The messages of one migration to its log (DB-03).
//
// Invariants
//   1. Without a log nothing is computed and no clock is read.

internal import EspalierModel

/// The notes of one migration for its log.
final class MigrationNotes {
    private let log: MigrationLog?
    private let start: ContinuousClock.Instant
    /// The beginning of the next part: the end of the part that was noted last.
    private var partStart: ContinuousClock.Instant

    /// Whether there is a log.
    var isKept: Bool { log != nil }

    init(_ log: MigrationLog?) {
        self.log = log
        start = .now
        partStart = start
    }

    /// Notes the beginning, and what continues what.
    func begin(_ path: String?, _ match: ModelMatch, _ origin: MigrationRecord.Origin, isTrial: Bool = false) {
        guard let log else { return }
        log.note(
            .began(
                path: path, from: match.old.versionChecksum, to: match.new.versionChecksum, origin, isTrial: isTrial))
        guard log.level >= .matches else { return }
        for entity in match.new.entities {
            guard let former = match.oldEntities[entity.index].map({ match.old.entities[$0] }) else { continue }
            log.note(.match(newer: entity.name, older: former.name))
            for attribute in entity.attributes {
                guard let slot = match.attributes[entity.index][attribute.slot] else { continue }
                let older = "\(former.name).\(former.attributes[slot].name)"
                log.note(.match(newer: "\(entity.name).\(attribute.name)", older: older))
            }
            for relationship in entity.relationships {
                guard let slot = match.relationships[entity.index][relationship.slot] else { continue }
                let older = "\(former.name).\(former.relationships[slot].name)"
                log.note(.match(newer: "\(entity.name).\(relationship.name)", older: older))
            }
        }
    }

    func note(_ steps: [MigrationPlan.Step]) { for step in steps { log?.note(.step(step)) } }

    /// Notes a part that has ended now and began with the end of the one before.
    func part(_ name: @autoclosure () -> String, _ count: @autoclosure () -> Int = 0) {
        guard let log, log.level >= .parts else { return }
        let now = ContinuousClock.Instant.now
        log.note(.part(name(), count: count(), duration: now - partStart))
        partStart = now
    }

    func end(_ outcome: MigrationPlan.Outcome, _ mappings: [MigrationPlan.Mapping] = []) {
        guard let log else { return }
        for mapping in mappings { log.note(.mapping(mapping)) }
        log.note(.ended(outcome, duration: .now - start))
    }

    func fail(_ reason: @autoclosure () -> String) { log?.note(.failed(reason: reason(), duration: .now - start)) }

    /// Carries out a migration, and notes the error if it fails.
    func noting<Answer>(_ body: () throws(StoreError) -> Answer) throws(StoreError) -> Answer {
        do throws(StoreError) { return try body() } catch {
            fail("\(error)")
            throw error
        }
    }
}
