//! Scratch of one thread: what [`Dynamics::realize`](super::Dynamics::realize) computes and the pieces read.

use super::ChartChange;
use std::any::Any;
use std::fmt;

/// What an implementation of the equations keeps in a [`Workspace`]: poses, blocks, scratch.
///
/// Implemented for every type that is `Any + Clone + Debug + Send + Sync`.
pub trait Cache: Any + fmt::Debug + Send + Sync {
    /// A copy of the cache.
    fn boxed_clone(&self) -> Box<dyn Cache>;
}

impl<T: Any + Clone + fmt::Debug + Send + Sync> Cache for T {
    fn boxed_clone(&self) -> Box<dyn Cache> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Cache> {
    fn clone(&self) -> Box<dyn Cache> {
        (**self).boxed_clone()
    }
}

/// Scratch of one thread, made by [`Dynamics::workspace`](super::Dynamics::workspace) and of use to that
/// implementation only.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Whether the rest belongs to the present point.
    pub valid: bool,
    /// The blocks of G by constraint and end, or one dense matrix. Solvers may borrow it where the equations
    /// [keep gradients](super::MatrixHints::keeps_gradients).
    pub jacobian: Vec<f64>,
    /// The charts that the last [`settle`](super::Geometry::settle) re-centred.
    pub recentred: ChartChange,
    cache: Box<dyn Cache>,
}

impl Default for Workspace {
    fn default() -> Workspace {
        Workspace::new(0, ())
    }
}

impl Workspace {
    /// A workspace with room for `gradients` values of G, and the cache of an implementation.
    pub fn new(gradients: usize, cache: impl Cache) -> Workspace {
        let jacobian = vec![0.0; gradients];
        Workspace { valid: false, jacobian, recentred: ChartChange::default(), cache: Box::new(cache) }
    }

    /// To be called whenever the point has moved.
    pub fn invalidate(&mut self) {
        self.valid = false;
    }

    /// The cache of an implementation.
    ///
    /// # Panics
    /// If the workspace was made by equations of another type: an error of the calling program.
    #[inline]
    pub fn cache<T: Any>(&self) -> &T {
        let cache: &dyn Any = &*self.cache;
        cache.downcast_ref().unwrap_or_else(|| foreign())
    }

    /// The cache of an implementation, and the Jacobian beside it.
    ///
    /// # Panics
    /// As [`cache`](Workspace::cache).
    #[inline]
    pub fn parts<T: Any>(&mut self) -> (&mut T, &mut Vec<f64>) {
        let cache: &mut dyn Any = &mut *self.cache;
        (cache.downcast_mut().unwrap_or_else(|| foreign()), &mut self.jacobian)
    }

    /// The cache of an implementation, to be changed.
    ///
    /// # Panics
    /// As [`cache`](Workspace::cache).
    #[inline]
    pub fn cache_mut<T: Any>(&mut self) -> &mut T {
        self.parts().0
    }
}

#[cold]
fn foreign() -> ! {
    panic!("a workspace serves the equations that made it, and no others")
}
