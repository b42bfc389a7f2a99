//! Cuts an object down to what is stored, compared and handed to a guest.
