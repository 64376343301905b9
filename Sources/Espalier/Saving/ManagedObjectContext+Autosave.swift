// Saving without being asked, at the end of an event (SD-16).

extension ManagedObjectContext {
    /// Saves what has changed, outside of every running save; observers are told of an error.
    func autosave() {
        guard holdsChanges, eventDepth == 0, stage == nil else { return }
        do throws(ContextError) {
            try save()
        } catch .alreadySaving {
            // A parent is saving; the next event tries again.
        } catch {
            tellDidFailToAutosave(error)
        }
    }

    /// Gives notice of changes that a call has made as an event of its own, if the context saves by itself.
    ///
    /// A save that has failed gives none: it would be repeated without end.
    func noteUnsavedChanges() { if autosaveEnabled, holdsChanges, !savesLater { giveNotice() } }
}
